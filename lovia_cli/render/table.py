"""Columns of text: one record a line, never wrapped, and never cut but to fit a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lovia_cli.render.terminal import Paint, safe, shortened, shortened_middle, width

GAP = 2
_ID_ENOUGH = 40
"""What is left of a long id, where there is no room for all of it, before any other column is cut."""

_COLORS = {"completed": "green", "running": "bold", "interrupted": "yellow", "failed": "red", "damaged": "red"}


class Column(NamedTuple):
    """One column. Where the terminal is too narrow, those of the highest ``rank`` are cut to ``least``, then go.

    Rank 0 never goes. An id keeps its beginning and its end when it is cut.
    """

    head: str
    rank: int = 0
    least: int = 4
    is_id: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], paint: Paint, room: int | None) -> Iterator[str]:
    """The heads and the rows. Cells are made safe here; ``room`` None is no terminal: nothing is cut."""
    cells = [[safe(cell, lines=False) for cell in row] for row in rows]
    natural = [max([width(column.head), *(width(row[index]) for row in cells)]) for index, column in enumerate(columns)]
    shown = _fitted(columns, natural, room)
    yield paint.dim(_line([columns[index].head for index in shown], list(shown.values())))
    for row in cells:
        yield _line(
            [_cut(columns[index], row[index], size) for index, size in shown.items()], list(shown.values()), paint
        )


def _fitted(columns: Sequence[Column], natural: list[int], room: int | None) -> dict[int, int]:
    """The columns to show, by index, with their widths."""
    shown = dict(enumerate(natural))
    if room is None:
        return shown
    for index in sorted(shown, key=lambda index: -columns[index].rank):
        over = sum(shown.values()) + GAP * (len(shown) - 1) - room
        least = {at: min(size, columns[at].least) for at, size in shown.items()}
        if over <= 0 or sum(least.values()) + GAP * (len(shown) - 1) <= room or columns[index].rank == 0:
            break
        del shown[index]
    over = sum(shown.values()) + GAP * (len(shown) - 1) - room
    for index in sorted(shown, key=lambda index: -shown[index]):
        if columns[index].is_id:
            cut = max(0, min(over, shown[index] - max(_ID_ENOUGH, columns[index].least)))
            shown[index] -= cut
            over -= cut
    for hard in (False, True):  # the second time even below what is seemly
        for index in sorted(shown, key=lambda index: -columns[index].rank):
            least_width = 4 if hard and columns[index].is_id else min(shown[index], columns[index].least)
            cut = max(0, min(over, shown[index] - least_width))
            shown[index] -= cut
            over -= cut
    return shown


def _cut(column: Column, cell: str, size: int) -> str:
    if width(cell) <= size:
        return cell
    brief = cell.partition(" (")[0]  # what stands in parentheses is the first to go
    if width(brief) <= size:
        return brief
    return shortened_middle(cell, size) if column.is_id else shortened(cell, size)


def _line(cells: list[str], sizes: list[int], paint: Paint | None = None) -> str:
    padded = [cell + " " * (size - width(cell)) for cell, size in zip(cells, sizes, strict=True)]
    return (" " * GAP).join(_colored(cell, paint) for cell in padded).rstrip()


def _colored(cell: str, paint: Paint | None) -> str:
    words = cell.split()
    color = _COLORS.get(words[0]) if words else None
    return getattr(paint, color)(cell) if color and paint and paint.enabled else cell
