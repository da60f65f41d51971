"""The parts of two steps that belong together: what was said, thought and called, each set beside the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal

from lovia_cli.comparing.aligning import Features, aligned
from lovia_cli.comparing.marks import Difference, Marked, Piece, mark_texts, mark_values, words
from lovia_cli.comparing.trajectory import Act, Step
from lovia_cli.comparing.values import meaning
from stores.entries import JSON, InputEntry

PartKind = Literal["input", "reasoning", "text", "call", "result"]

MOST_FEATURES = 200
"""How many words of a text are looked at to find what belongs to it."""


@dataclass(slots=True, kw_only=True)
class Part:
    """One part of a step on both sides, in pieces; None where a side has no such part.

    ``a_label`` and ``b_label`` say what it is beside its kind: the role of an input, a call's place and tool. Of two
    JSON values ``differences`` has what differs by path.
    """

    kind: PartKind
    a: Marked | None
    b: Marked | None
    a_label: str = ""
    b_label: str = ""
    same: bool = False
    differences: list[Difference] = field(default_factory=list)

    def as_json(self) -> dict[str, JSON]:
        """A part that differs, for `Row.as_json`."""
        return {
            "part": self.kind,
            "a": None if self.a is None else "".join(piece.text for piece in self.a),
            "b": None if self.b is None else "".join(piece.text for piece in self.b),
            "a_label": self.a_label,
            "b_label": self.b_label,
            "paths": [one.as_json() for one in self.differences],
        }


def features_of(step: Step) -> Features:
    """What a step is recognised by: its tools count most, then their arguments, then words."""
    return Features(
        key=step.key(),
        asked=lambda: tuple(act.asked() for act in step.acts) or step.text,
        shape=tuple(act.call.name for act in step.acts),
        words=lambda: _words_of(step.acts, step.text),
    )


def _words_of(acts: Sequence[Act], text: str = "") -> Counter[str]:
    found = Counter(_some_words(text))
    for act in acts:
        found[f"tool {act.call.name}"] += 5
        found.update(_some_words(act.call.arguments))
    return found


def _some_words(text: str) -> list[str]:
    return [word for word in words(text[: 10 * MOST_FEATURES]) if word[0].isalnum()][:MOST_FEATURES]


def parts_of(a: Step | None, b: Step | None) -> list[Part]:
    """The parts of two steps in their order; with one step alone, its own."""
    none = Step(number=0)
    one, other = a or none, b or none
    parts = [*_text("reasoning", one.reasoning, other.reasoning), *_text("text", one.text, other.text)]
    for first, second in paired_acts(one.acts, other.acts):
        parts += _call(first, second)
    for left, right in zip_longest(one.inputs, other.inputs):
        parts.append(_input(left, right))
    return parts


def paired_acts(a: Sequence[Act], b: Sequence[Act]) -> Iterator[tuple[Act | None, Act | None]]:
    """The calls of two steps that belong together. A call is never paired with that of another tool."""
    for i, j in aligned([_act_features(act) for act in a], [_act_features(act) for act in b]):
        one, other = None if i is None else a[i], None if j is None else b[j]
        if one and other and one.call.name != other.call.name:
            yield one, None
            yield None, other
        else:
            yield one, other


def _act_features(act: Act) -> Features:
    return Features(key=act.key(), asked=act.asked, shape=act.call.name, words=lambda: _words_of([act]))


def _text(kind: PartKind, a: str, b: str) -> list[Part]:
    if not a and not b:
        return []
    if not a or not b:
        return [Part(kind=kind, a=_alone(a) if a else None, b=_alone(b) if b else None)]
    one, other = mark_texts(a, b)
    return [Part(kind=kind, a=one, b=other, same=a == b)]


def _alone(text: str) -> Marked:
    """All of it is only here."""
    return [Piece(text, True)]


def _input(a: InputEntry | None, b: InputEntry | None) -> Part:
    part = Part(kind="input", a=None, b=None, a_label=a.role if a else "", b_label=b.role if b else "")
    if a is None or b is None:
        part.a, part.b = (None if entry is None else _alone(_said(entry)) for entry in (a, b))
    else:
        part.a, part.b = mark_texts(_said(a), _said(b))
        part.same = (a.role, _said(a)) == (b.role, _said(b))
    return part


def _said(entry: InputEntry) -> str:
    """The text, and a line for each attachment that tells one from another."""
    return "\n".join([entry.text, *(f"[attachment {_digest(part)}]" for part in entry.parts)])


def _digest(part: dict[str, JSON]) -> str:
    from hashlib import sha256

    from lovia_cli.comparing.values import canonical

    name = part.get("name") or part.get("type") or ""
    return f"{name} {sha256(canonical(part).encode('utf-8', 'replace')).hexdigest()[:12]}".strip()


def _call(a: Act | None, b: Act | None) -> list[Part]:
    """The call, and its result where there is one."""
    parts = [_pair("call", _arguments(a), _arguments(b))]
    if (a and a.result) or (b and b.result):
        parts.append(_pair("result", _output(a), _output(b)))
    for part in parts:
        part.a_label = _label(a, part.kind) if part.a is not None else ""
        part.b_label = _label(b, part.kind) if part.b is not None else ""
    if len(parts) > 1 and a and b and a.result and b.result and a.result.kind != b.result.kind:
        parts[1].same = False
    return parts


def _arguments(act: Act | None) -> str | None:
    return act.call.arguments if act else None


def _output(act: Act | None) -> str | None:
    return act.result.output if act and act.result else None


def _pair(kind: PartKind, a: str | None, b: str | None) -> Part:
    if a is None or b is None:
        one, other = (None if text is None else _alone(text) for text in (a, b))
        return Part(kind=kind, a=one, b=other)
    if meaning(a) == meaning(b):
        return Part(kind=kind, a=[Piece(a, False)], b=[Piece(b, False)], same=True)
    first, second, differences = mark_values(a, b)
    return Part(kind=kind, a=first, b=second, differences=differences)


def _label(act: Act | None, kind: PartKind) -> str:
    """``2.1 book``; a result says how it came about, unless it is an ordinary one."""
    if act is None:
        return ""
    if kind == "call":
        return f"{act.place} {act.call.name}"
    result = act.result
    return act.place if result is None or result.kind == "ok" else f"{act.place} {result.kind}"
