"""Breaking lines where a terminal would, but between words and with an indent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lovia_cli.render.terminal import width

INDENT = "    "


def wrapped(text: str, first: str, indent: str, columns: int | None) -> Iterator[str]:
    """The lines of safe ``text``, the first after ``first``, the others after ``indent``.

    ``columns`` None is no terminal: no line is broken, and tabs stay.
    """
    lead = first
    for line in (text if columns is None else text.expandtabs(4)).split("\n"):
        if columns is None or width(lead) + width(line) <= columns:
            yield (lead + line).rstrip()
        else:
            yield from _broken(line, lead, indent, columns)
        lead = indent


def _broken(line: str, lead: str, indent: str, columns: int) -> Iterator[str]:
    current, used, empty = lead, width(lead), True
    for word in re.findall(r"\s*\S+|\s+$", line):
        below = width(word.lstrip()) <= columns - width(indent)
        if used + width(word) > columns and (not empty or below):
            yield current.rstrip()
            current, used, empty, word = indent, width(indent), True, word.lstrip()
        for piece in _pieces(word, columns - used, max(8, columns - width(indent))):
            if not empty and used + width(piece) > columns:
                yield current.rstrip()
                current, used = indent, width(indent)
            current, used, empty = current + piece, used + width(piece), False
    yield current.rstrip()


def _pieces(word: str, room: int, columns: int) -> Iterator[str]:
    """A word that is longer than a line, in pieces that fit: the first into ``room``, the others into ``columns``."""
    return iter([word]) if width(word) <= max(room, columns) else cut(word, max(room, 8), columns)


def cut(word: str, first: int, columns: int) -> Iterator[str]:
    """A word in pieces, the first of at most ``first`` columns, the others of at most ``columns``; none is empty."""
    piece, used, room = "", 0, first
    for char in word:
        size = width(char)
        if piece and used + size > room:
            yield piece
            piece, used, room = "", 0, columns
        piece, used = piece + char, used + size
    yield piece
