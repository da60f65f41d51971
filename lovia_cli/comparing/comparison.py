"""Two trajectories compared: their steps in pairs, where they part, and how they drift (H4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lovia_cli.comparing.aligning import aligned
from lovia_cli.comparing.drift import Drift, drift_between
from lovia_cli.comparing.parts import Part, features_of, parts_of
from lovia_cli.comparing.trajectory import Step, Trajectory
from stores.entries import JSON, Entry
from stores.records import RunSnapshot

RowKind = Literal["same", "changed", "removed", "added"]


@dataclass(slots=True, frozen=True)
class Row:
    """Two steps that belong together, or one that only one side has: ``removed`` is only in A, ``added`` only in B."""

    kind: RowKind
    a: Step | None
    b: Step | None

    def parts(self) -> list[Part]:
        """What the steps consist of, with what differs marked. Worked out each time it is asked for."""
        return parts_of(self.a, self.b)

    def as_json(self) -> dict[str, JSON]:
        """Both steps, and the parts that differ."""
        differing = [] if self.kind == "same" else [part.as_json() for part in self.parts() if not part.same]
        return {
            "kind": self.kind,
            "a": self.a.as_json() if self.a else None,
            "b": self.b.as_json() if self.b else None,
            "differences": differing,
        }


@dataclass(slots=True, frozen=True, kw_only=True)
class Comparison:
    """What `compare_trajectories` found.

    ``a`` and ``b`` are each run's steps. ``rows`` has them in pairs; the first is what the runs were asked, as step 0.
    ``diverged_at`` is the number of the first step that differs: of both, since up to there they are the same.
    None when every step is the same.
    """

    sides: tuple[Trajectory, Trajectory]
    rows: list[Row]
    diverged_at: int | None
    drift: Drift

    @property
    def a(self) -> list[Step]:
        return self.sides[0].steps

    @property
    def b(self) -> list[Step]:
        return self.sides[1].steps

    @property
    def same(self) -> bool:
        """True when no step differs and nothing drifts: a run may stop for another reason after the same steps."""
        return self.diverged_at is None and not self.drift

    def count(self, kind: RowKind) -> int:
        """How many steps there are of a kind, step 0 aside."""
        return sum(1 for row in self.rows[1:] if row.kind == kind)


Comparable = Trajectory | RunSnapshot | Sequence[Entry]
"""What can be compared: a run's snapshot, its own entries, or either as a `Trajectory` already."""


def compare_trajectories(a: Comparable, b: Comparable) -> Comparison:
    """Compare two runs step by step.

    A step is a model response, the results of its calls, and what was said after them. Ids of calls make no
    difference, nor does how the same JSON object is written. A step that one side has more is one step more: the
    steps behind it are still compared with those they belong to.
    """
    one, other = Trajectory.of(a), Trajectory.of(b)
    rows = list(_rows(one, other))
    first = next((row for row in rows if row.kind != "same"), None)
    step = (first.a or first.b) if first else None
    return Comparison(
        sides=(one, other),
        rows=rows,
        diverged_at=step.number if step else None,
        drift=drift_between(one, other, ((row.a, row.b) for row in rows if row.kind == "changed")),
    )


def _rows(a: Trajectory, b: Trajectory) -> Iterator[Row]:
    """The input, and the steps as they belong together; what a step means is worked out once."""
    yield Row("same" if a.opening.key() == b.opening.key() else "changed", a.opening, b.opening)
    one, other = ([features_of(step) for step in side.steps] for side in (a, b))
    for i, j in aligned(one, other):
        if i is None or j is None:
            yield Row("added", None, b.steps[j]) if j is not None else Row("removed", a.steps[i or 0], None)
        else:
            yield Row("same" if one[i].key == other[j].key else "changed", a.steps[i], b.steps[j])
