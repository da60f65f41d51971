"""What differs within two texts, word by word, and within two JSON values, by the paths of their keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from lovia_cli.comparing.stretches import Stretch, ends, stretches
from lovia_cli.comparing.values import NOT_JSON, canonical, structure, written
from stores.entries import JSON


class Piece(NamedTuple):
    """A part of a text, and whether the other text has something else in its place."""

    text: str
    differs: bool


Marked = list[Piece]
"""A text in pieces; joined they are the text."""

Path = tuple[str | int, ...]


class Difference(NamedTuple):
    """One value that is not the same on both sides: ``path`` leads to it, such as ``guests[0].name``."""

    path: str
    kind: Literal["changed", "removed", "added"]
    a: JSON
    b: JSON

    def as_json(self) -> dict[str, JSON]:
        return self._asdict()


MOST_WORDS = 3000
"""Where more words differ than these, texts are compared by lines first, and of longer lines only the ends."""

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|\s+|[^\w\s]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def words(text: str) -> list[str]:
    """The text in words, spaces and signs; joined they are the text."""
    return _WORD.findall(text)


def mark_texts(a: str, b: str) -> tuple[Marked, Marked]:
    """Both texts with the words marked that only one of them has."""
    if a == b:
        return _whole(a, False), _whole(b, False)
    first, second = words(a), words(b)
    if max(len(first), len(second)) - sum(ends(first, second)) > MOST_WORDS:
        return _by_lines(a.splitlines(keepends=True), b.splitlines(keepends=True))
    return _by_words(first, second)


def _whole(text: str, differs: bool) -> Marked:
    return [Piece(text, differs)] if text else []


def _by_words(a: list[str], b: list[str]) -> tuple[Marked, Marked]:
    kept = list(_blocks(a, b))
    common = sum(len(word) for block in kept for word in a[block.a : block.a + block.size])
    if common * 4 < min(len("".join(a)), len("".join(b))):
        kept = []  # a few words in common do not make one text out of two
    return _marked(a, [(block.a, block.size) for block in kept]), _marked(b, [(block.b, block.size) for block in kept])


def _blocks(a: list[str], b: list[str]) -> Iterator[Stretch]:
    """What both have in order: their beginnings, their ends, and the words between, if that is not long."""
    m, n = len(a), len(b)
    first, last = ends(a, b)
    yield Stretch(0, 0, first)
    if max(m, n) - first - last <= MOST_WORDS:
        for x, y, size in _words_between(a[first : m - last], b[first : n - last]):
            yield Stretch(first + x, first + y, size)
    yield Stretch(m - last, n - last, last)


def _words_between(a: list[str], b: list[str]) -> Iterator[Stretch]:
    """The words that both have, each with the signs about it: by chance two different passages have those alone."""
    one, other = ([at for at, word in enumerate(some) if not _is_sign(word)] for some in (a, b))
    i = j = 0
    for x, y, size in stretches([a[at] for at in one], [b[at] for at in other]):
        for p, q in zip(one[x : x + size], other[y : y + size], strict=True):
            behind, before = ends(a[i:p], b[j:q])
            yield Stretch(i, j, behind)
            yield Stretch(p - before, q - before, before + 1)
            i, j = p + 1, q + 1
    yield Stretch(i, j, ends(a[i:], b[j:])[0])


def _is_sign(word: str) -> bool:
    """Spaces and signs alone."""
    return not any(map(str.isalnum, word))


def _marked(tokens: Sequence[str], same: Sequence[tuple[int, int]]) -> Marked:
    """The tokens as pieces; ``same`` are the stretches that the other side has too, begin and length."""
    out: Marked = []
    at = 0
    for begin, size in [*same, (len(tokens), 0)]:
        out += _whole("".join(tokens[at:begin]), True) + _whole("".join(tokens[begin : begin + size]), False)
        at = begin + size
    return _joined(out)


def _by_lines(a: list[str], b: list[str]) -> tuple[Marked, Marked]:
    out_a: Marked = []
    out_b: Marked = []
    i = j = 0
    for x, y, size in stretches(a, b):
        one, other = _by_words(words("".join(a[i:x])), words("".join(b[j:y])))
        out_a += one + _whole("".join(a[x : x + size]), False)
        out_b += other + _whole("".join(b[y : y + size]), False)
        i, j = x + size, y + size
    return out_a, out_b


# --- JSON -------------------------------------------------------------------------------------------------------------


def mark_values(a: str, b: str) -> tuple[Marked, Marked, list[Difference]]:
    """Two texts that may hold JSON: where both do, what differs is marked and named by its path, else by words."""
    one, other = structure(a), structure(b)
    if one is not NOT_JSON and other is not NOT_JSON and type(one) is type(other):
        try:
            found = list(_differences(one, other, (), ()))
            return _written(one, found, "a"), _written(other, found, "b"), [each.told() for each in found]
        except RecursionError:
            pass  # so deep that nobody reads it
    return *mark_texts(a, b), []


class _Found(NamedTuple):
    """A difference, with its path on each side; None where that side has nothing."""

    a_path: Path | None
    b_path: Path | None
    a: JSON
    b: JSON

    def told(self) -> Difference:
        if self.b_path is None:
            return Difference(dotted(self.a_path or ()), "removed", self.a, None)
        kind: Literal["changed", "added"] = "added" if self.a_path is None else "changed"
        return Difference(dotted(self.b_path), kind, self.a, self.b)


def _differences(a: JSON, b: JSON, a_path: Path, b_path: Path) -> Iterator[_Found]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            if key not in b:
                yield _Found((*a_path, key), None, a[key], None)
            elif key not in a:
                yield _Found(None, (*b_path, key), None, b[key])
            else:
                yield from _differences(a[key], b[key], (*a_path, key), (*b_path, key))
    elif isinstance(a, list) and isinstance(b, list):
        yield from _in_lists(a, b, a_path, b_path)
    elif canonical(a) != canonical(b):
        yield _Found(a_path, b_path, a, b)


def _in_lists(a: list[JSON], b: list[JSON], a_path: Path, b_path: Path) -> Iterator[_Found]:
    """Element by element; one that was put in or taken out is one difference, not that of all behind it."""
    i = j = 0
    for x, y, size in stretches([canonical(value) for value in a], [canonical(value) for value in b]):
        both = min(x - i, y - j)
        for k in range(both):
            yield from _differences(a[i + k], b[j + k], (*a_path, i + k), (*b_path, j + k))
        yield from (_Found((*a_path, k), None, a[k], None) for k in range(i + both, x))
        yield from (_Found(None, (*b_path, k), None, b[k]) for k in range(j + both, y))
        i, j = x + size, y + size


def dotted(path: Path) -> str:
    """``guests[0].name``; a key that is no name stands as ``["a key"]``."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        elif _NAME.fullmatch(part):
            out += f".{part}" if out else part
        else:
            out += f"[{json.dumps(part, ensure_ascii=False)}]"
    return out


def _written(value: JSON, found: Sequence[_Found], side: Literal["a", "b"]) -> Marked:
    """One side in one line, with its differing values marked; in a text that changed, its words."""
    marked: dict[Path, Marked] = {}
    alone: set[Path] = set()
    for one in found:
        path = one.a_path if side == "a" else one.b_path
        if path is not None:
            marked[path] = _marked_value(one, side)
            if _is_alone(one):
                alone.add(path)
    return _joined(_pieces(value, (), marked, alone))


def _is_alone(one: _Found) -> bool:
    return one.a_path is None or one.b_path is None


def _marked_value(one: _Found, side: Literal["a", "b"]) -> Marked:
    if isinstance(one.a, str) and isinstance(one.b, str) and not _is_alone(one):
        inner = mark_texts(written(one.a)[1:-1], written(one.b)[1:-1])[0 if side == "a" else 1]
        return [Piece('"', False), *inner, Piece('"', False)]
    return [Piece(written(one.a if side == "a" else one.b), True)]


def _pieces(value: JSON, path: Path, marked: Mapping[Path, Marked], alone: set[Path]) -> Iterator[Piece]:
    if path in marked:
        yield from marked[path]
    elif isinstance(value, dict) and value:
        for number, (key, inner) in enumerate(value.items()):
            yield Piece(", " if number else "{", False)
            yield Piece(f"{json.dumps(key, ensure_ascii=False)}: ", (*path, key) in alone)
            yield from _pieces(inner, (*path, key), marked, alone)
        yield Piece("}", False)
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield Piece(", " if number else "[", False)
            yield from _pieces(inner, (*path, number), marked, alone)
        yield Piece("]", False)
    else:
        yield Piece(written(value), False)


def _joined(pieces: Iterable[Piece]) -> Marked:
    """Neighbours that are both marked, or both not, as one piece."""
    runs = groupby(pieces, lambda piece: piece.differs)
    return [Piece("".join(piece.text for piece in run), differs) for differs, run in runs]
