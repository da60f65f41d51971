"""The responses of a transcript, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stores.entries import Entry, InputEntry, ToolResultEntry


def turns(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Cut the transcript where a response begins and around every input.

    A record without steps (an import) has step 0 everywhere, so a response also begins where anything but a
    result follows a result.
    """
    turn: list[Entry] = []
    for entry in entries:
        if turn and _cuts(turn[-1], entry):
            yield turn
            turn = []
        turn.append(entry)
    if turn:
        yield turn


def _cuts(before: Entry, entry: Entry) -> bool:
    if isinstance(before, InputEntry) or isinstance(entry, InputEntry) or before.step != entry.step:
        return True
    return isinstance(before, ToolResultEntry) and not isinstance(entry, ToolResultEntry)
