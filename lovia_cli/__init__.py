"""Durable LLM agents from YAML: a run survives a crash, a kill, a full disk, a restart."""

__version__ = "0.1.0"
