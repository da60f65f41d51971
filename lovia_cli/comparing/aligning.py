"""Which of two rows of things belong to each other: what one row has more stands alone, and all else is in pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from lovia_cli.comparing.stretches import stretches

Pair = tuple[int | None, int | None]
"""An index in the first row and one in the second; None where there is nothing to set beside the other."""

MOST_CELLS = 10_000
"""The largest gap, one side's length times the other's, in which every pairing is weighed."""


class Features(NamedTuple):
    """What a thing is recognised by.

    ``key`` is the same for what is the same, ``asked`` for what was asked for alike, whatever came of it, and ``shape``
    for what is of one kind. ``words`` gives what tells how much two different things have in common. ``asked`` and
    ``words`` are asked only where much differs, and where things are weighed.
    """

    key: Hashable
    asked: Callable[[], Hashable]
    shape: Hashable
    words: Callable[[], Counter[str]]


Level = Callable[[Features], Hashable]

LEVELS: tuple[Level, ...] = (lambda one: one.key, lambda one: one.asked(), lambda one: one.shape)
"""By what things are paired, one after the other, as long as what is left between them is too much to be weighed."""


def aligned(a: Sequence[Features], b: Sequence[Features]) -> list[Pair]:
    """Every index of both, in order.

    What is the same at the beginning and at the end is paired first, so that the first pair that differs is where the
    two rows part, whatever follows. Between them the longest stretches of the same are found, and what is left between
    those is paired by likeness: one thing more on one side leaves the others in their pairs.
    """
    return list(_aligned(a, b, LEVELS))


def _aligned(a: Sequence[Features], b: Sequence[Features], levels: Sequence[Level]) -> Iterator[Pair]:
    """What is alike by the first of the levels in pairs, and the gaps between by likeness; large ones by the others."""
    level, others = levels[0], levels[1:]
    i = j = 0
    for x, y, size in stretches([level(one) for one in a], [level(one) for one in b]):
        gap = a[i:x], b[j:y]
        if (x - i) * (y - j) <= MOST_CELLS:
            pairs: Iterable[Pair] = _by_likeness(*gap)
        else:
            pairs = _aligned(*gap, others) if others else zip_longest(range(x - i), range(y - j))
        yield from ((None if p is None else i + p, None if q is None else j + q) for p, q in pairs)
        yield from ((x + k, y + k) for k in range(size))
        i, j = x + size, y + size


def _by_likeness(a: Sequence[Features], b: Sequence[Features]) -> list[Pair]:
    """The pairing that costs least, where a pair costs what it differs in, and what stands alone costs 1.

    ``left[i][j]`` is what the rest costs from ``i`` and ``j`` on.
    """
    m, n = len(a), len(b)
    apart = _distances(a, b)
    left = [[float(m - i + n - j) for j in range(n + 1)] for i in range(m + 1)]
    for i in range(m - 1, -1, -1):
        for j in range(n - 1, -1, -1):
            left[i][j] = min(apart[i][j] + left[i + 1][j + 1], 1 + left[i + 1][j], 1 + left[i][j + 1])
    pairs: list[Pair] = []
    i = j = 0
    while i < m or j < n:
        if i < m and j < n and left[i][j] == apart[i][j] + left[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif j == n or (i < m and left[i][j] == 1 + left[i + 1][j]):
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return pairs


def _distances(a: Sequence[Features], b: Sequence[Features]) -> list[list[float]]:
    """From 0 for the same to a little less than 2: a pair that has nothing in common is still better than two alone."""
    others = [(other, other.words()) for other in b]
    return [[_distance(one, words, *other) for other in others] for one in a for words in (one.words(),)]


def _distance(one: Features, words: Counter[str], other: Features, others: Counter[str]) -> float:
    if one.key == other.key:
        return 0.0
    common = sum(min(number, others[word]) for word, number in words.items())
    total = words.total() + others.total()
    return 1.9 * (1 - 2 * common / total if total else 1.0) + (0.0 if one.shape == other.shape else 0.09)
