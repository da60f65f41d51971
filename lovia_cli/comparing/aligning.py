"""Which of two rows of things belong to each other: what one row has more stands alone, and all else is in pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

Pair = tuple[int | None, int | None]
"""An index in the first row and one in the second; None where there is nothing to set beside the other."""

MOST_CELLS = 10_000
"""The largest gap, one side's length times the other's, in which every pairing is weighed."""


class Features(NamedTuple):
    """What a thing is recognised by.

    ``key`` is the same for what is the same, ``shape`` for what is of one kind; ``words`` gives what tells how much two
    different things have in common, and is asked only where they are weighed.
    """

    key: Hashable
    shape: Hashable
    words: Callable[[], Counter[str]]


def aligned(a: Sequence[Features], b: Sequence[Features]) -> list[Pair]:
    """Every index of both, in order.

    What is the same at the beginning and at the end is paired first, so that the first pair that differs is where the
    two rows part, whatever follows. Between them the longest stretches of the same are found, and what is left between
    those is paired by likeness: one thing more on one side leaves the others in their pairs.
    """
    m, n = len(a), len(b)
    first = 0
    while first < min(m, n) and a[first].key == b[first].key:
        first += 1
    last = 0
    while last < min(m, n) - first and a[m - 1 - last].key == b[n - 1 - last].key:
        last += 1
    middle = _by_key(a[first : m - last], b[first : n - last])
    return [
        *((i, i) for i in range(first)),
        *((_moved(i, first), _moved(j, first)) for i, j in middle),
        *((m - i, n - i) for i in range(last, 0, -1)),
    ]


def _moved(index: int | None, by: int) -> int | None:
    return None if index is None else index + by


def _by_key(a: Sequence[Features], b: Sequence[Features]) -> Iterator[Pair]:
    """What is the same in pairs; the gaps between by likeness, and where they are large by shape first."""
    i = j = 0
    for x, y, size in _same([one.key for one in a], [one.key for one in b]):
        few = (x - i) * (y - j) <= MOST_CELLS
        gap = (_by_likeness if few else _by_shape)(a[i:x], b[j:y])
        yield from ((_moved(p, i), _moved(q, j)) for p, q in gap)
        yield from ((x + k, y + k) for k in range(size))
        i, j = x + size, y + size


def _by_shape(a: Sequence[Features], b: Sequence[Features]) -> Iterator[Pair]:
    """What is of one kind in pairs, and the gaps between one after the other: too many to weigh them all."""
    i = j = 0
    for x, y, size in _same([one.shape for one in a], [one.shape for one in b]):
        both = min(x - i, y - j)
        yield from ((i + k, j + k) for k in range(both))
        yield from ((k, None) for k in range(i + both, x))
        yield from ((None, k) for k in range(j + both, y))
        yield from ((x + k, y + k) for k in range(size))
        i, j = x + size, y + size


def _same(a: list[Hashable], b: list[Hashable]) -> list[tuple[int, int, int]]:
    """The stretches of the same: where they begin on both sides, and how long they are. The last is empty."""
    return [(block.a, block.b, block.size) for block in SequenceMatcher(None, a, b).get_matching_blocks()]


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
