"""What ``lovia replay --agent`` returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lovia_cli.cli.answers import Checked, Row


@dataclass(slots=True, kw_only=True)
class Retraced(Checked):
    """A changed agent along a recording: each finding is a difference, `lovia_cli.cli.shapes.ReplayObject` the object.

    To people it is what any check is: a line a finding, and what they come to.
    """

    def as_json(self) -> Row:
        return {"v": 1, "exit_code": self.exit_code, **self.data, "differences": list(self._differences())}

    def rows(self) -> Iterable[Row]:
        yield from ({"v": 1, "kind": "difference", **row} for row in self._differences())
        yield {"v": 1, "kind": "summary", "exit_code": self.exit_code, **self.data}

    def _differences(self) -> Iterator[Row]:
        for finding in self.findings:
            yield {name: value for name, value in finding.items() if name != "where"}
