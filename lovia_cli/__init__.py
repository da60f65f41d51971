"""Durable LLM agents from YAML: a run survives a crash, a kill, a full disk, a restart."""
