"""What the agent file will have and this version has not: a key of it is an error that says so.

The issue that brings a key deletes it here.
"""

from __future__ import annotations

AGENT_KEYS = frozenset({"agents", "context", "handoffs", "permissions", "sub_agents"})
TOOL_KEYS = frozenset({"needs_approval"})
TOOL_TYPES = frozenset({"http", "mcp"})
ON_RESUME = frozenset({"ask"})
