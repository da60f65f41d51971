"""What the engine tells whoever watches a run. One event is one fact; nothing depends on it being read.

| type               | data                                                                              |
|--------------------|-----------------------------------------------------------------------------------|
| ``run.started``    | session_id, agent, model, resumed, replayed, steps, input_ignored                  |
| ``model.started``  | step, model                                                                        |
| ``text.delta``     | step, text                                                                         |
| ``reasoning.delta``| step, text                                                                         |
| ``model.retry``    | step, attempt, wait (seconds), message                                             |
| ``model.finished`` | step, model, text, tool_calls (position, call_id, name, arguments), usage, cost_usd, ... |
| ``tool.started``   | step, position, call_id, name, arguments (text)                                    |
| ``tool.progress``  | step, position, text                                                               |
| ``tool.finished``  | step, position, call_id, name, output, is_error, kind, seconds                     |
| ``output.invalid`` | step, message: the answer does not fit, and the model is asked once more              |
| ``input.accepted`` | text, queued                                                                       |
| ``run.saved``      | save, step, event                                                                  |
| ``notice``         | level ("info" or "warning"), code, message                                         |
| ``agent.drift``    | changes                                                                            |
| ``run.finished``   | status, output, error, stop, finish_reason, steps, usage, replayed, exit_code (the CLI adds it) |

``model.finished`` also has the ``finish_reason``. A replay has ``run.started`` and ``run.finished`` only (R6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, frozen=True)
class Event:
    """One fact about the run ``run_id``, at epoch second ``ts``."""

    type: str
    run_id: str
    ts: float
    data: dict[str, Any] = field(default_factory=dict)


Sink = Callable[[Event], None]
