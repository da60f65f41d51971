"""The tools that a run has: its agent's, and the automatic ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lovia_cli.engine.conversation import Conversation
from lovia_cli.engine.journal import Journal
from lovia_cli.engine.order import RunOrder
from lovia_cli.tools.base import Tool
from lovia_cli.tools.recall import NAME, RecallTool
from stores.entries import Entry


def offered_tools(order: RunOrder, journal: Journal, conversation: Conversation) -> list[Tool]:
    """The agent's tools, and with a result store the one that recalls, unless the agent has one of that name (M2)."""
    tools = list(order.agent.tools)
    if order.results is None or any(tool.spec.name == NAME for tool in tools):
        return tools

    def runs() -> Iterator[tuple[str, Sequence[Entry]]]:
        yield journal.run_id, journal.entries
        yield from ((segment.run_id, segment.entries) for segment in reversed(conversation.segments))

    return [*tools, RecallTool(order.results, runs)]
