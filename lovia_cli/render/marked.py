"""Texts in pieces, some of them marked, as lines of a terminal: in colour, or between brackets where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from lovia_cli.comparing.marks import Marked, Piece
from lovia_cli.render.terminal import Paint, safe, width
from lovia_cli.render.words import counted
from lovia_cli.render.wrap import cut

Side = Literal["a", "b"]

_BRACKETS = {"a": ("[-", "-]"), "b": ("{+", "+}")}
_LINE = re.compile(r"\n|[^\n]+")
_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_TAB = 4

SAME_SHOWN, OTHER_SHOWN = 160, 2000
"""How many characters of a piece a terminal is shown of what is the same, and of what is not."""


class Line(NamedTuple):
    """One line, painted, and the columns that it takes."""

    text: str
    width: int


def bracketed(pieces: Marked, side: Side, paint: Paint) -> Marked:
    """The pieces with brackets around what is marked, unless colours tell, or all of it is marked anyhow.

    Neither tells anything of spaces and line ends: where nothing else is marked, brackets do.
    """
    are_told = paint.enabled or all(piece.differs for piece in pieces)
    return [shown for piece in pieces for shown in _bracketed(piece, side, are_told)]


def _bracketed(piece: Piece, side: Side, is_told: bool) -> Iterator[Piece]:
    before, behind = _BRACKETS[side]
    if piece.differs and piece.text.isspace():
        yield Piece(before + safe(piece.text, lines=False) + behind, True)
        yield Piece("\n" * piece.text.count("\n"), False)
    elif piece.differs and not is_told:
        yield Piece(before + piece.text + behind, True)
    else:
        yield piece


def shortened_pieces(pieces: Marked) -> Marked:
    """Long pieces with their middle, or their end, left out."""
    return [Piece(_shortened(text, differs), differs) for text, differs in pieces]


def _shortened(text: str, differs: bool) -> str:
    if not differs and len(text) > SAME_SHOWN:
        return f"{text[: SAME_SHOWN // 2]} ... {text[-SAME_SHOWN // 2 :]}"
    if len(text) > OTHER_SHOWN:
        return f"{text[:OTHER_SHOWN]}\n... {counted(len(text) - OTHER_SHOWN, 'more character')}, shown with -v"
    return text


def flowed(pieces: Sequence[Piece], side: Side, room: int | None, paint: Paint) -> Iterator[Line]:
    """The lines of the pieces, broken between words at ``room`` columns; None breaks only where the text does."""
    line = _Filling(side, paint)
    for text, differs in pieces:
        for token in (_LINE if room is None else _TOKEN).findall(safe(text)):
            if token == "\n":
                yield line.taken()
            elif room is None:
                line.add(token, differs)
            else:
                yield from _added(token.expandtabs(_TAB), differs, line, room)
    if line.width or not pieces:
        yield line.taken()


def _added(word: str, differs: bool, line: _Filling, room: int) -> Iterator[Line]:
    """Put a word, or the spaces between two, into the line; gives the lines that are full before."""
    size = width(word)
    if line.width + size > room and line.width:
        if word.isspace():
            return
        if size <= room or line.width >= room:
            yield line.taken()
    for piece in [word] if size <= room else cut(word, max(room - line.width, 1), room):
        if line.width + width(piece) > room and line.width:
            yield line.taken()
        line.add(piece, differs)


class _Filling:
    """A line that is being filled."""

    def __init__(self, side: Side, paint: Paint) -> None:
        self._color = paint.red if side == "a" else paint.green
        self._runs: list[tuple[list[str], bool]] = []
        self.width = 0

    def add(self, text: str, differs: bool) -> None:
        if not self._runs or self._runs[-1][1] != differs:
            self._runs.append(([], differs))
        self._runs[-1][0].append(text)
        self.width += width(text)

    def taken(self) -> Line:
        """The line as it stands, without spaces at its end; the next one begins."""
        runs = [Piece("".join(texts), differs) for texts, differs in self._runs]
        if runs and not runs[-1].text.strip():
            self.width -= width(runs.pop().text)
        line = Line("".join(self._color(text) if differs else text for text, differs in runs), self.width)
        self._runs, self.width = [], 0
        return line
