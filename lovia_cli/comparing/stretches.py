"""What two rows of things have in common, in order, at a cost that has a bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)

MOST_PAIRS = 100_000
"""So many pairs of equal things are looked at to find a stretch, those of the rarest things first and in any case."""
MOST_WORK, MORE_WORK = 5_000_000, 200
"""So much work is done in all, and so much more for each thing. What is left then is as if nothing were the same."""
_PAIR = 3
"""The work that a pair is; a thing is 1."""


class Stretch(NamedTuple):
    """A stretch of the same: where it begins on both sides, and how long it is."""

    a: int
    b: int
    size: int


def ends(a: Sequence[T], b: Sequence[T]) -> tuple[int, int]:
    """How many things are the same at the beginning, and behind that at the end."""
    most = min(len(a), len(b))
    first = next((i for i in range(most) if a[i] != b[i]), most)
    last = next((i for i in range(most - first) if a[-1 - i] != b[-1 - i]), most - first)
    return first, last


def stretches(a: Sequence[T], b: Sequence[T]) -> list[Stretch]:
    """The stretches of the same, in order: both beginnings and ends, and of what is between them the longest first.

    The first is where both begin and the last where both end, be they empty. However often a thing is repeated, it
    counts: `SequenceMatcher` alone takes no notice of it in a long row, or takes minutes.
    """
    m, n = len(a), len(b)
    first, last = ends(a, b)
    found: list[Stretch] = []
    work: float = MOST_WORK + MORE_WORK * (m + n)
    gaps: list[_Gap] = [(None, first, m - last, first, n - last)]
    while gaps and work > 0:
        window, i, x, j, y = gaps.pop()
        if i == x or j == y:
            continue
        if window is None or window.is_wide(x - i, y - j):
            window = _Window(a, b, i, x, j, y)
        one, done = window.longest(i, x, j, y)
        work -= done
        if one.size:
            found.append(one)
            gaps += [(window, i, one.a, j, one.b), (window, one.a + one.size, x, one.b + one.size, y)]
        elif window.misses(x - i, y - j):
            gaps.append((None, i, x, j, y))
    return [Stretch(0, 0, first), *sorted(found), Stretch(m - last, n - last, last)]


class _Window:
    """A part of both rows in which stretches are looked for. In a small part of it another window sees more, faster."""

    def __init__(self, a: Sequence[Hashable], b: Sequence[Hashable], i: int, x: int, j: int, y: int) -> None:
        self._at = i, j
        self._size = x - i + y - j
        self._matcher: Any = SequenceMatcher(None, a[i:x], b[j:y], autojunk=False)
        self._is_limited = False
        pairs = self._limited(a[i:x])
        self._work = 1 + _PAIR * pairs / (x - i)

    def _limited(self, a: Sequence[Hashable]) -> int:
        """Leave out what is so frequent that it is too much to look at; gives how many pairs are left."""
        numbers, places = Counter(a), self._matcher.b2j
        pairs = {thing: numbers[thing] * len(where) for thing, where in places.items()}
        total = 0
        for thing in sorted(pairs, key=pairs.__getitem__):
            if _PAIR * pairs[thing] > MOST_WORK or (total and total + pairs[thing] > MOST_PAIRS):
                del places[thing]
                self._is_limited = True
            else:
                total += pairs[thing]
        return total

    def is_wide(self, m: int, n: int) -> bool:
        """Whether a gap of that size is better looked at alone."""
        return 2 * (m + n) < self._size

    def misses(self, m: int, n: int) -> bool:
        """Whether another window would see in a gap of that size what this one left out."""
        return self._is_limited and m + n < self._size

    def longest(self, i: int, x: int, j: int, y: int) -> tuple[Stretch, float]:
        """The longest stretch of the same there, which may be empty, and the work that it was to find it."""
        p, q = self._at
        a, b, size = self._matcher.find_longest_match(i - p, x - p, j - q, y - q)
        return Stretch(p + a, q + b, size), self._work * (x - i)


_Gap = tuple[_Window | None, int, int, int, int]
"""Between two stretches: the window about it, and where it begins and ends in the one row and in the other."""
