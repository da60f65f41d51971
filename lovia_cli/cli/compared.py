"""What `lovia compare` returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia_cli import exits
from lovia_cli.cli.answers import Row

if TYPE_CHECKING:
    from lovia_cli.comparing import Comparison


@dataclass(slots=True, kw_only=True)
class Compared:
    """Two runs side by side. ``html`` is the page that was written of it, None without one."""

    store: str
    comparison: Comparison
    html: str | None = None
    exit_code: int = exits.Exit.OK

    def as_json(self) -> Row:
        a, b = self.comparison.sides
        rows = [row.as_json() for row in self.comparison.rows]
        return {**self._summary(), "a": a.as_json(), "b": b.as_json(), "rows": rows, "html": self.html}

    def rows(self) -> Iterable[Row]:
        for side, trajectory in zip("ab", self.comparison.sides, strict=True):
            yield {"v": 1, "kind": "side", "side": side, **trajectory.as_json()}
        for row in self.comparison.rows:
            data = row.as_json()
            yield {"v": 1, "kind": "row", "row": data.pop("kind"), **data}
        yield {**self._summary(), "kind": "summary", "html": self.html}

    def _summary(self) -> Row:
        comparison = self.comparison
        return {
            "v": 1,
            "exit_code": self.exit_code,
            "store": self.store,
            "same": comparison.same,
            "diverged_at": comparison.diverged_at,
            "drift": comparison.drift.as_json(),
        }
