"""Runs as trees: forks stand under the runs they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia_cli import exits
from lovia_cli.cli.answers import Row
from lovia_cli.cli.listed import run_row

if TYPE_CHECKING:
    from stores.lines import RunInfo


@dataclass(slots=True, kw_only=True)
class RunTrees:
    """Runs with their depth, each fork behind its source; ``filtered`` when not all were asked for."""

    store: str
    runs: list[tuple[int, RunInfo]]
    filtered: bool = False
    exit_code: int = exits.Exit.OK

    def as_json(self) -> Row:
        """Each run with its ``forks``, which have theirs."""
        top: list[Row] = []
        above = [(-1, top)]
        for depth, run in self.runs:
            row = run_row(run) | {"forks": []}
            while above[-1][0] >= depth:
                above.pop()
            above[-1][1].append(row)
            above.append((depth, row["forks"]))
        return {"v": 1, "store": self.store, "runs": top}

    def rows(self) -> Iterable[Row]:
        return [{"v": 1, "kind": "run", "depth": depth, **run_row(run)} for depth, run in self.runs]


def trees(runs: Sequence[RunInfo], root: str | None = None) -> list[tuple[int, RunInfo]]:
    """Every run with its depth, each fork behind its source: the tree with the newest activity first, forks in order.

    A fork whose source is not among ``runs`` is a root. With ``root``, only that run's tree.
    """
    known = {run.run_id for run in runs}
    forks: dict[str, list[RunInfo]] = {}
    roots: list[RunInfo] = []
    for run in runs:
        source = (run.parent or {}).get("run_id")
        if run.run_id == root or (root is None and source not in known):
            roots.append(run)
        elif source is not None:
            forks.setdefault(source, []).append(run)
    found = [list(_walk(run, forks)) for run in roots]
    found.sort(key=lambda tree: max(run.updated_at or 0.0 for _, run in tree), reverse=True)
    return [row for tree in found for row in tree]


def _walk(root: RunInfo, forks: dict[str, list[RunInfo]]) -> Iterator[tuple[int, RunInfo]]:
    """The run and its forks, each behind its source; however deep they go."""
    waiting = [(0, root)]
    while waiting:
        depth, run = waiting.pop()
        yield depth, run
        below = sorted(forks.pop(run.run_id, ()), key=lambda fork: fork.started_at or 0.0)
        waiting += [(depth + 1, fork) for fork in reversed(below)]
