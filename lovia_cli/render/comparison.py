"""``lovia compare`` for people: step by step, side by side where the terminal is wide, else one below the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from lovia_cli.comparing.marks import Marked, Piece
from lovia_cli.render.marked import Line, Side, bracketed, flowed, shortened_pieces
from lovia_cli.render.sides import brief, drift_facts, facts, label, patch_facts, row_title, verdict
from lovia_cli.render.terminal import Paint, safe, shortened, width
from lovia_cli.render.wrap import wrapped

if TYPE_CHECKING:
    from lovia_cli.cli.compared import Compared
    from lovia_cli.comparing import Comparison, Drift, Row
    from lovia_cli.comparing.parts import Part

WIDE = 120
"""From so many columns on the two sides stand beside each other."""
MOST_COLUMNS = 240
MANY = 3
"""More same steps in a row than these are one line, and so are more drifting arguments."""

_SIGNS = {"same": "=", "changed": "~", "removed": "-", "added": "+"}
_GAP = " | "


class _Page(NamedTuple):
    """How it is shown. ``columns`` None is no terminal: nothing is broken, and nothing left out of what differs."""

    paint: Paint
    columns: int | None
    verbose: int

    @property
    def half(self) -> int | None:
        """The columns of one side; None where one stands below the other."""
        return (self.columns - len(_GAP)) // 2 if self.columns is not None and self.columns >= WIDE else None

    @property
    def is_short(self) -> bool:
        """True where long texts are not shown whole."""
        return self.columns is not None and not self.verbose

    def line(self, text: str, used: int = 0) -> str:
        """Outside text as one line that fits behind the columns that are used."""
        return safe(text, lines=False) if self.columns is None else shortened(text, max(self.columns - used, 0))

    def flow(self, pieces: Marked, side: Side, room: int | None) -> list[Line]:
        return list(flowed(shortened_pieces(pieces) if self.is_short else pieces, side, room, self.paint))


def comparison(answer: Compared, paint: Paint, verbose: int, columns: int | None) -> Iterator[str]:
    """The lines: the two runs, their steps, the drift, and last of all what came out."""
    page = _Page(paint, min(columns, MOST_COLUMNS) if columns is not None else None, verbose)
    found = answer.comparison
    yield from _heads(found, page)
    yield ""
    yield from _rows(found.rows, page)
    yield ""
    if found.drift:
        yield from _drift(found.drift, page)
    yield from map(paint.bold, wrapped(verdict(found), "", "  ", page.columns))


def _heads(found: Comparison, page: _Page) -> Iterator[str]:
    for sign, trajectory in zip("AB", found.sides, strict=True):
        name = f"{sign} {safe(trajectory.name, lines=False)}"
        head = f"{name}: {safe(', '.join(facts(trajectory)), lines=False)}"
        first, *more = wrapped(head, "", "  ", page.columns)
        yield page.paint.bold(first[: len(name)]) + first[len(name) :]
        yield from more
        yield from ("  " + page.line(fact, 2) for fact in patch_facts(trajectory))


# --- steps ------------------------------------------------------------------------------------------------------------


def _rows(rows: Sequence[Row], page: _Page) -> Iterator[str]:
    """Same steps in a line each, many of them in one line; all else part by part."""
    opening, *steps = rows
    for some in ([opening], *(list(group) for _, group in groupby(steps, lambda row: row.kind == "same"))):
        if some[0].kind != "same" or page.verbose:
            for row in some:
                yield from _row(row, page)
        elif len(some) > MANY:
            yield page.paint.dim(page.line(f"= {row_title(some[0])} to {row_title(some[-1])}"))
        else:
            yield from (page.paint.dim(_same(row, page)) for row in some)


def _same(row: Row, page: _Page) -> str:
    assert row.a is not None
    return page.line(f"= {row_title(row)}  {brief(row.a)}")


def _row(row: Row, page: _Page) -> Iterator[str]:
    yield f"{_SIGNS[row.kind]} {page.paint.bold(page.line(row_title(row), 2))}"
    for part in row.parts():
        yield from _below(part, page) if page.half is None else _beside(part, page, page.half)


def _below(part: Part, page: _Page) -> Iterator[str]:
    """What is the same once, what is not as it was with ``-`` and as it is with ``+``."""
    room = None if page.columns is None else page.columns - 4
    if part.same:
        yield from (page.paint.dim(f"    {line}") for line in _same_part(part, "a", page, room))
        return
    for line in _lines(part, "a", page, room):
        yield f"  {page.paint.red('-')} {line.text}"
    for line in _lines(part, "b", page, room):
        yield f"  {page.paint.green('+')} {line.text}"


def _beside(part: Part, page: _Page, half: int) -> Iterator[str]:
    room = half - 4
    if part.same:
        left = [Line(page.paint.dim(text), width(text)) for text in _same_part(part, "a", page, room)]
        right = [Line(page.paint.dim(text), width(text)) for text in _same_part(part, "b", page, room)]
        signs = (" ", " ")
    else:
        left, right = _lines(part, "a", page, room), _lines(part, "b", page, room)
        signs = (page.paint.red("-"), page.paint.green("+"))
    nothing = Line("", 0)
    for one, other in zip_longest(left, right):
        a = f"  {signs[0] if one else ' '} {(one or nothing).text}" + " " * (room - (one or nothing).width)
        b = f"{signs[1]} {other.text}" if other else ""
        yield f"{a}{_GAP}{b}".rstrip()


def _same_part(part: Part, side: Side, page: _Page, room: int | None) -> list[str]:
    """One line of it, where it is not shown whole."""
    pieces = _labelled(part, side) or []
    if page.is_short and room is not None:
        return [shortened("".join(piece.text for piece in pieces), room)]
    return [line.text for line in flowed(pieces, side, room, Paint(False))]


def _lines(part: Part, side: Side, page: _Page, room: int | None) -> list[Line]:
    pieces = _labelled(part, side, page.paint)
    return [] if pieces is None else page.flow(pieces, side, room)


def _labelled(part: Part, side: Side, paint: Paint | None = None) -> Marked | None:
    """The pieces of one side behind what they are, with brackets where ``paint`` has no colours."""
    pieces = part.a if side == "a" else part.b
    if pieces is None:
        return None
    return [Piece(label(part, side), False), *(pieces if paint is None else bracketed(pieces, side, paint))]


# --- drift ------------------------------------------------------------------------------------------------------------


def _drift(drift: Drift, page: _Page) -> Iterator[str]:
    for name, lines in drift_facts(drift):
        shown = lines if not page.is_short or len(lines) <= MANY + 1 else lines[:MANY]
        for line in shown:
            yield page.line(f"{name}: {line}")
        if len(shown) < len(lines):
            yield page.paint.dim(page.line(f"{name}: {len(lines) - len(shown)} more, shown with -v"))
