"""YAML files that people write for us, read strictly: every value keeps its place in the file.

A leaf that imports nothing of lovia but its errors; agent files and model scripts are both read here.
"""
