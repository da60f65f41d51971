"""The one place that prints: text for people, json and ndjson for scripts."""
