"""One JSON object a line, written as it happens: the events of a run, or the rows of a listing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lovia_cli.render.json import dumps

if TYPE_CHECKING:
    from lovia_cli.cli.answers import Answer
    from lovia_cli.engine.events import Event
    from lovia_cli.render.streams import Out


class NdjsonView:
    """``-o ndjson``. Of a run: first ``run.started``, last ``run.finished``, whatever happened in between.

    The engine's last event waits for the answer, which alone knows the process's exit code.
    """

    def __init__(self, out: Out) -> None:
        self._out = out
        self._seq = 0
        self._last: Event | None = None

    def event(self, event: Event) -> None:
        if event.type == "run.finished":
            self._last = event
        else:
            self._emit(event.type, event.run_id, event.ts, event.data)

    def finish(self, answer: Answer) -> None:
        rows = answer.rows()
        if rows is not None:
            for row in rows:
                self._out.bytes(dumps(row) + b"\n")
            return
        data = answer.as_json()
        run_id, now = data.get("run_id"), time.time()
        if not self._seq:
            nothing = {"resumed": False, "replayed": False, "steps": 0, "input_ignored": False}
            known = {name: data.get(name) for name in ("session_id", "agent", "model")}
            self._emit("run.started", run_id, now, known | nothing)
        last = self._last.data if self._last else {"stop": None, "finish_reason": None}
        ts = self._last.ts if self._last else now
        self._emit("run.finished", run_id, ts, {**last, **{k: v for k, v in data.items() if k not in ("v", "run_id")}})

    def _emit(self, kind: str, run_id: str | None, ts: float, data: dict[str, Any]) -> None:
        self._seq += 1
        line = {"v": 1, "seq": self._seq, "ts": ts, "run_id": run_id, "type": kind, **data}
        self._out.bytes(dumps(line) + b"\n")
