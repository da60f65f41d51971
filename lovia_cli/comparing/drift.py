"""What a run does otherwise, in the four kinds that an evaluation asks for (H4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lovia_cli.comparing.marks import Difference, mark_values
from lovia_cli.comparing.parts import paired_acts
from lovia_cli.comparing.trajectory import Act, Step, Trajectory
from lovia_cli.comparing.values import meaning
from stores.entries import JSON

Two = tuple[JSON, JSON]
"""What the one side has, and the other."""


@dataclass(slots=True, frozen=True, kw_only=True)
class ArgumentDrift:
    """Two calls of one tool that belong together, with other arguments; places are ``STEP.POSITION``.

    ``differences`` is empty where the arguments are no JSON objects.
    """

    tool: str
    a: Act
    b: Act
    differences: list[Difference]

    def as_json(self) -> dict[str, JSON]:
        return {
            "tool": self.tool,
            "a": {"call": self.a.place, "arguments": self.a.call.arguments},
            "b": {"call": self.b.place, "arguments": self.b.call.arguments},
            "paths": [one.as_json() for one in self.differences],
        }


@dataclass(slots=True, frozen=True, kw_only=True)
class Drift:
    """The four kinds; None, or empty, where there is no drift of that kind. It is false when there is none at all.

    ``tool_order`` has the names of the tools called, in order; with a part of a run there is no ``finish_reason``.
    """

    tool_order: tuple[list[str], list[str]] | None = None
    arguments: list[ArgumentDrift] = field(default_factory=list)
    step_count: tuple[int, int] | None = None
    finish_reason: tuple[str | None, str | None] | None = None

    def __bool__(self) -> bool:
        return bool(self.tool_order or self.arguments or self.step_count or self.finish_reason)

    def as_json(self) -> dict[str, JSON]:
        return {
            "tool_order": _two(self.tool_order),
            "arguments": [one.as_json() for one in self.arguments],
            "step_count": _two(self.step_count),
            "finish_reason": _two(self.finish_reason),
        }


def _two(values: Two | None) -> dict[str, JSON] | None:
    return None if values is None else {"a": values[0], "b": values[1]}


def drift_between(a: Trajectory, b: Trajectory, pairs: Iterable[tuple[Step | None, Step | None]]) -> Drift:
    """The drift of two runs, in which ``pairs`` are the steps that belong together and are not the same."""
    tools = [act.call.name for act in a.acts()], [act.call.name for act in b.acts()]
    steps = len(a.steps), len(b.steps)
    reasons = a.finish_reason, b.finish_reason
    is_part = a.upto is not None or b.upto is not None
    return Drift(
        tool_order=tools if tools[0] != tools[1] else None,
        arguments=[drift for one, other in pairs if one and other for drift in _arguments(one, other)],
        step_count=steps if steps[0] != steps[1] else None,
        finish_reason=reasons if reasons[0] != reasons[1] and not is_part else None,
    )


def _arguments(a: Step, b: Step) -> Iterable[ArgumentDrift]:
    for one, other in paired_acts(a.acts, b.acts):
        if one and other and meaning(one.call.arguments) != meaning(other.call.arguments):
            differences = mark_values(one.call.arguments, other.call.arguments)[2]
            yield ArgumentDrift(tool=one.call.name, a=one, b=other, differences=differences)
