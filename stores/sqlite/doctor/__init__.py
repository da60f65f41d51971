"""The doctor: what may be wrong with a database of ours, and how it is put right. The store itself needs none of it.

What the store says of a damaged row becomes part of a finding, which names the file: hence ``where=""`` in here.
"""
