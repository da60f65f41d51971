"""Cutting long tool outputs short (M1), at places where it does not hurt, with a marker that does not lie."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stores.entries import JSON, Entry, ToolResultEntry
from stores.fields import changed
from stores.references import ResultRef, results_of

_RECORD = 96
"""Bytes that noting a first cut may take in the stored form; a cut that frees no more is not made."""

_OPEN_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?$"  # half of a pair, as JSON writes it
    r"|\\(?:u[0-9a-fA-F]{0,3})?$"
    "|\x1b(?:\\[[0-9;:<=>?]*[ -/]*)?$"  # a terminal's sequence
)


@dataclass(slots=True, frozen=True, kw_only=True)
class Cut:
    """One output that is to be cut: ``result`` takes the place of the entry at ``index``.

    ``whole`` is the output as it is now, None when that is already a part.
    """

    index: int
    reference: ResultRef
    whole: str | None
    result: ToolResultEntry


def trim_cuts(run_id: str, entries: Sequence[Entry], keep_chars: int, *, archived: bool) -> list[Cut]:
    """What to cut of one run so that each output keeps at most its first ``keep_chars`` characters, and a marker.

    Left alone is what would not become shorter by it. The entries are not changed. ``archived`` says what the marker
    promises of outputs that are whole until now: that they can be recovered. The result notes in ``trimmed`` how long
    the whole was, how much of it is left, and whether it was archived, so that a later trim can cut further; and its
    checksum, for `is_whole_of`.
    """
    cuts = []
    for index, reference, result in results_of(run_id, entries):
        if len(result.output) <= keep_chars:
            continue
        short = _shortened(result, reference, keep_chars, archived)
        if short is not None:
            whole = None if result.trimmed else result.output
            cuts.append(Cut(index=index, reference=reference, whole=whole, result=short))
    return cuts


def apply_cuts(entries: Sequence[Entry], cuts: Iterable[Cut]) -> list[Entry]:
    """A new list with the cuts made; everything else is as it was, and where it was."""
    out = list(entries)
    for cut in cuts:
        out[cut.index] = cut.result
    return out


def is_whole_of(output: str, result: ToolResultEntry) -> bool:
    """Whether ``output`` is what the result was before it was cut (M2).

    An archive goes by run, step and position, and a run id may stand for another run by now, or elsewhere.
    """
    trimmed = result.trimmed or {}
    kept = result.output[: trimmed.get("kept", 0)]
    is_like = len(output) == trimmed.get("chars") and output.startswith(kept)
    return is_like and trimmed.get("sum", found := _checksum(output)) == found


def _checksum(output: str) -> str:
    return hashlib.sha256(output.encode(errors="surrogatepass")).hexdigest()[:16]


def _shortened(
    result: ToolResultEntry, reference: ResultRef, keep_chars: int, archived: bool
) -> ToolResultEntry | None:
    """The result with less of its output; None when it would not be less."""
    length = len(result.output)
    before = result.trimmed or {
        **{"chars": length, "kept": length, "archived": archived},
        **({"sum": _checksum(result.output)} if archived else {}),
    }
    if not keep_chars < before.get("kept", 0) <= before.get("chars", 0):
        return None
    head = result.output[: safe_end(result.output, keep_chars)]
    trimmed = {**before, "kept": len(head)}
    output = head + _marker(trimmed, reference)
    cost = 0 if result.trimmed else _RECORD
    return changed(result, output=output, trimmed=trimmed) if len(output) + cost < len(result.output) else None


def _marker(trimmed: dict[str, JSON], reference: ResultRef) -> str:
    cut = f"{trimmed['chars'] - trimmed['kept']} of {trimmed['chars']} characters cut"
    how = f"; recall_tool_result gives the whole output: {reference}" if trimmed.get("archived") else " for good"
    return f"{chr(10) if trimmed['kept'] else ''}[{cut}{how}]"


def safe_end(text: str, limit: int) -> int:
    """The longest beginning of ``text``, of at most ``limit`` characters, that ends between two characters.

    That is between what a reader sees as such (a letter with its accents, a family of emoji, a flag), and not within
    a backslash escape or a terminal's escape sequence.
    """
    if limit >= len(text):
        return len(text)
    end = limit if text[: limit + 1].isascii() else _cluster_end(text, limit)
    if text[end - 1 : end + 1] == "\r\n":
        end -= 1
    found = _OPEN_ESCAPE.search(text, max(end - 32, 0), end)
    return found.start() if found else end


def _cluster_end(text: str, limit: int) -> int:
    """The last end of a grapheme cluster at or before ``limit``."""
    import regex  # it knows Unicode's rules; most outputs are ASCII and do without

    end = 0
    for cluster in regex.finditer(r"\X", text):
        if cluster.end() > limit:
            break
        end = cluster.end()
    return end
