"""One command a module: its function takes what was given, and returns the answer."""
