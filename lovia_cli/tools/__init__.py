"""The tool seam and the kinds of tools behind it."""
