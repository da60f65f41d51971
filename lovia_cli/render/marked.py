"""Texts in pieces, some of them marked, as lines of a terminal: in colour, or between brackets where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from lovia_cli.comparing.marks import Marked, Piece
from lovia_cli.render.terminal import Paint, safe, width

Side = Literal["a", "b"]

_BRACKETS = {"a": ("[-", "-]"), "b": ("{+", "+}")}
_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_TAB = 4

SAME_SHOWN, OTHER_SHOWN = 160, 2000
"""How many characters of a piece a terminal is shown of what is the same, and of what is not."""


class Line(NamedTuple):
    """One line, painted, and the columns that it takes."""

    text: str
    width: int


def bracketed(pieces: Marked, side: Side, paint: Paint) -> Marked:
    """The pieces with brackets around what is marked, unless colours tell, or all of it is marked anyhow."""
    if paint.enabled or all(piece.differs for piece in pieces):
        return pieces
    before, behind = _BRACKETS[side]
    return [Piece(f"{before}{text}{behind}", True) if differs else Piece(text, False) for text, differs in pieces]


def shortened_pieces(pieces: Marked) -> Marked:
    """Long pieces with their middle, or their end, left out."""
    return [Piece(_shortened(text, differs), differs) for text, differs in pieces]


def _shortened(text: str, differs: bool) -> str:
    if not differs and len(text) > SAME_SHOWN:
        return f"{text[: SAME_SHOWN // 2]} ... {text[-SAME_SHOWN // 2 :]}"
    if len(text) > OTHER_SHOWN:
        return f"{text[:OTHER_SHOWN]}\n... {len(text) - OTHER_SHOWN:,} more characters, shown with -v"
    return text


def flowed(pieces: Sequence[Piece], side: Side, room: int | None, paint: Paint) -> Iterator[Line]:
    """The lines of the pieces, broken between words at ``room`` columns; None breaks only where the text does."""
    line = _Filling(side, paint)
    for text, differs in pieces:
        for token in _TOKEN.findall(safe(text)):
            if token == "\n":
                yield line.taken()
                continue
            word = token if room is None else token.expandtabs(_TAB)
            if room is not None and line.width + width(word) > room and line.width:
                if word.isspace():
                    continue
                if width(word) <= room or line.width >= room:
                    yield line.taken()
            for piece in _split(word, room, line.width):
                if room is not None and line.width + width(piece) > room and line.width:
                    yield line.taken()
                line.add(piece, differs)
    if line.width or not pieces:
        yield line.taken()


def _split(word: str, room: int | None, used: int) -> Iterator[str]:
    """A word that is longer than a line, in pieces that fit."""
    if room is None or width(word) <= room:
        yield word
        return
    piece, size = "", max(room - used, 1)
    for char in word:
        if piece and width(piece + char) > size:
            yield piece
            piece, size = "", room
        piece += char
    yield piece


class _Filling:
    """A line that is being filled."""

    def __init__(self, side: Side, paint: Paint) -> None:
        self._paint = paint
        self._color = paint.red if side == "a" else paint.green
        self._runs: list[Piece] = []
        self.width = 0

    def add(self, text: str, differs: bool) -> None:
        if self._runs and self._runs[-1].differs == differs:
            text = self._runs.pop().text + text
            self.width -= width(text)
        self._runs.append(Piece(text, differs))
        self.width = sum(width(run.text) for run in self._runs)

    def taken(self) -> Line:
        """The line as it stands; the next one begins."""
        if self._runs and not self._runs[-1].text.strip():
            self._runs.pop()
        text = "".join(self._color(text) if differs else text for text, differs in self._runs)
        line = Line(text, sum(width(run.text) for run in self._runs))
        self._runs, self.width = [], 0
        return line
