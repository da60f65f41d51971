"""What was changed in a fork before it went on, seen from the save that it comes from and the one behind it (H2)."""

from __future__ import annotations

from collections.abc import Iterator

from lovia_cli.comparing.values import canonical, meaning
from stores.entries import JSON, Entry, InputEntry, ToolResultEntry, entry_from_json, entry_to_json, pair
from stores.records import RunSnapshot


def patch_between(before: RunSnapshot, after: RunSnapshot) -> list[dict[str, JSON]]:
    """The changes, in the order in which a fork applies them; empty when there were none.

    ``kind`` is ``messages`` (the transcript was rewritten), ``state``, ``tool_result`` or ``input``; ``was`` and
    ``now`` are what stood there before and after.
    """
    return list(_changes(before, after))


def _changes(before: RunSnapshot, after: RunSnapshot) -> Iterator[dict[str, JSON]]:
    was, now = _asked(before.entries), _asked(after.entries)
    said = [entry for entry in now[len(was) :] if isinstance(entry, InputEntry)]
    rewritten = list(map(_text, was)) != list(map(_text, now[: len(was)])) or len(said) != len(now) - len(was)
    if rewritten:
        yield {"kind": "messages", "was": len(before.entries), "now": len(after.entries)}
    if canonical(before.head.state) != canonical(after.head.state):
        yield {"kind": "state", "was": before.head.state, "now": after.head.state}
    if not rewritten:
        yield from _results(before.entries, after.entries)
    waiting = [entry_from_json(row) for row in after.head.queued_input[len(before.head.queued_input) :]]
    for entry in [*([] if rewritten else said), *waiting]:
        if isinstance(entry, InputEntry):
            yield {"kind": "input", "was": None, "now": entry.text}


def _asked(entries: list[Entry]) -> list[Entry]:
    """All but the results, which a fork may replace one by one."""
    return [entry for entry in entries if not isinstance(entry, ToolResultEntry)]


def _text(entry: Entry) -> str:
    return canonical(entry_to_json(entry))


def _results(before: list[Entry], after: list[Entry]) -> Iterator[dict[str, JSON]]:
    """The results that are others than before; one that the call did not have yet was None."""
    for (call, was), (_, now) in zip(pair(before), pair(after), strict=False):
        if now is not None and (was is None or meaning(was.output) != meaning(now.output) or was.kind != now.kind):
            yield {
                "kind": "tool_result",
                "call": f"{call.step}.{call.position}",
                "tool": call.name,
                "was": was.output if was else None,
                "now": now.output,
            }
