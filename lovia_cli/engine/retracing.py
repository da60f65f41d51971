"""A changed agent driven along a recorded run, offline (H5).

The recorded responses and results stand. At each step it is asked what this agent would have sent in place of what
was sent, what it would make of each call, and whether its limits would let it go on. Nothing is written, no model is
asked, no tool runs, and what a model would have answered to another request is not guessed at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from lovia_cli.agent import Agent
from lovia_cli.engine.calls import no_tool
from lovia_cli.engine.drift import changes, fingerprint
from lovia_cli.engine.limits import limits_in_force, reached
from lovia_cli.engine.output import is_repair, parse
from lovia_cli.engine.recording import Recording, noted
from lovia_cli.errors import InvalidOutputError, LoviaError
from lovia_cli.tools.arguments import UNREADABLE, parse_arguments
from lovia_cli.tools.recall import NAME as RECALL
from stores.closing import last_text
from stores.entries import Entry, ToolCallEntry, ToolResultEntry, pair
from stores.records import RunHead, Status
from stores.values import ValueNotStorable, exception_text, plain

Part = Literal["instructions", "tools", "schema", "arguments", "limits", "output", "result"]
"""What differs: of the request the instructions, the tools it offers (by name and description) and the schemas (of a
tool, or of the output); the validation of a call's arguments; a limit; what is made of an answer; a call without a
recorded result.
"""


@dataclass(slots=True, frozen=True, kw_only=True)
class Difference:
    """One point where the agent does not fit the recording. It holds from ``step`` to ``until``.

    ``position`` is that of a call within its step; ``name`` names the tool or the limit.
    """

    step: int
    until: int
    part: Part
    message: str
    position: int | None = None
    name: str | None = None


@dataclass(slots=True, kw_only=True)
class Retrace:
    """What came of it. ``without_result`` is the first call that would run and has no recorded result.

    ``model`` has both models' ids where they differ, which is no difference: the recorded responses are played. Nor is
    another name: ``recorded_agent`` is that of the agent that the run had.
    """

    run_id: str
    session_id: str | None
    agent: str
    recorded_agent: str
    status: str
    steps: int
    differences: list[Difference] = field(default_factory=list)
    without_result: ToolCallEntry | None = None
    model: tuple[str, str] | None = None
    has_fingerprint: bool = True

    @property
    def diverged_at(self) -> int | None:
        """The first step that differs; None when none does."""
        return self.differences[0].step if self.differences else None


def retrace(agent: Agent, recording: Recording) -> Retrace:
    """Drive ``agent`` along the recording."""
    return _Retracing(agent, recording).go()


class _Retracing:
    def __init__(self, agent: Agent, recording: Recording) -> None:
        self._agent = agent
        self._recording = recording
        self._run = recording.run
        self._tools = {tool.spec.name: tool for tool in agent.tools}
        self._pairs = pair(self._run.entries)
        self._results = Counter(call.step for call, result in self._pairs if result is not None)
        self._now: dict[str, dict[str, Any]] = {}
        self._without_result: ToolCallEntry | None = None

    def go(self) -> Retrace:
        head = self._run.head
        found = [*self._requests(), *self._calls(), *self._limits(), *self._outputs()]
        models = [str(prints.get("model")) for step in self._steps() if (prints := self._prints(step))]
        other = next((model for model in models if model != self._agent.model.id), None)
        return Retrace(
            run_id=self._run.run_id,
            session_id=head.session_id,
            agent=self._agent.name,
            recorded_agent=head.agent,
            status=head.status,
            steps=head.steps,
            differences=sorted(found, key=lambda one: (one.step, one.position or 0)),
            without_result=self._without_result,
            model=(other, self._agent.model.id) if other is not None else None,
            has_fingerprint=bool(models) or not head.steps,
        )

    def _steps(self) -> range:
        return range(1, self._run.head.steps + 1)

    def _prints(self, step: int) -> dict[str, Any]:
        return self._recording.head_at(step).fingerprint or {}

    def _entries(self, step: int) -> list[Entry]:
        return [entry for entry in self._run.entries if entry.step == step]

    # --- what would have been sent --------------------------------------------------------------------------------

    def _requests(self) -> Iterator[Difference]:
        """The requests that would have been others, those of neighbouring steps taken together."""
        spans: dict[tuple[Part, str | None, str], list[list[int]]] = {}
        for step in self._steps():
            for key in self._request(self._recording.head_at(step)):
                ranges = spans.setdefault(key, [])
                if ranges and ranges[-1][1] == step - 1:
                    ranges[-1][1] = step
                else:
                    ranges.append([step, step])
        for (part, name, message), ranges in spans.items():
            for first, last in ranges:
                yield Difference(step=first, until=last, part=part, name=name, message=message)

    def _request(self, head: RunHead) -> Iterator[tuple[Part, str | None, str]]:
        now = self._fingerprint(head.config.get("variables") or {})
        found = changes(head.fingerprint, now)
        if "instructions" in found:
            yield "instructions", None, "the instructions are not those that were sent"
        for name in found.get("tools_removed", ()):
            yield "tools", name, f"the tool {name!r} was offered, and is gone"
        for name in found.get("tools_added", ()):
            yield "tools", name, f"the tool {name!r} was not offered"
        for name in found.get("tools_changed", ()):
            yield "schema", name, f"the schema of tool {name!r} is not the one that was sent"
        if not (head.fingerprint or {}).get("also"):
            return
        then, texts = noted(head, "descriptions") or {}, now["also"]["descriptions"]
        for name in sorted(then.keys() & texts.keys()):
            if then[name] != texts[name]:
                yield "tools", name, f"the description of tool {name!r} is not the one that was sent"
        if noted(head, "output_schema") != now["also"]["output_schema"]:
            yield "schema", None, "the schema of the output is not the one that was sent"

    def _fingerprint(self, variables: dict[str, Any]) -> dict[str, Any]:
        """That of the agent, with the variables of then."""
        key = repr(sorted(variables.items()))
        if key not in self._now:
            self._now[key] = fingerprint(self._agent, variables)
        return self._now[key]

    # --- what would have become of the calls ----------------------------------------------------------------------

    def _calls(self) -> Iterator[Difference]:
        for call, result in self._pairs:
            if (found := self._call(call, result)) is None:
                continue
            part, message = found
            yield Difference(
                step=call.step,
                until=call.step,
                position=call.position or None,
                part=part,
                name=call.name,
                message=f"call {call.step}.{call.position} {call.name}: {message}",
            )

    def _call(self, call: ToolCallEntry, result: ToolResultEntry | None) -> tuple[Part, str] | None:
        if call.name == RECALL and RECALL not in self._tools:
            return None  # offered by the engine, where there are archived outputs
        refusal = self._refusal(call)
        refused_then = result is not None and _was_refused(call, result)
        if refusal is not None:
            part: Part = "tools" if call.name not in self._tools else "arguments"
            as_then = refused_then and (part == "tools" or _begins_alike(result, refusal))
            return None if as_then else (part, f"would be refused: {_in_a_line(refusal)}")
        if result is not None and not refused_then:
            return None
        if self._without_result is None:
            self._without_result = call
        if result is None:
            return "result", "there is no recorded result"
        return "arguments", "would run, and was refused then: there is no recorded result"

    def _refusal(self, call: ToolCallEntry) -> str | None:
        """Why the call would not reach its tool; None when it would."""
        tool = self._tools.get(call.name)
        if tool is None:
            return no_tool(call)
        try:
            tool.check(parse_arguments(call.arguments))
        except LoviaError as error:
            return error.message
        except Exception as error:  # as the engine takes it: a check of the user's own that failed
            return exception_text(error)
        return None

    # --- what would have stopped it -------------------------------------------------------------------------------

    def _limits(self) -> Iterator[Difference]:
        """The first point at which each limit that is another one now would have stopped the run, or no longer does."""
        told: set[str] = set()
        answered = 0
        for step in self._steps():
            spent = {"max_steps": step - 1, "max_tool_calls": answered, **self._recording.spent_before(step)}
            answered += self._results[step]
            for name, value in self._changed_limits(step).items():
                ran_over = name == "max_tool_calls" and value is not None and answered > value
                if name not in told and (ran_over or reached({name: value}, spent, but="max_tool_calls")):
                    told.add(name)
                    yield _limit(step, name, f"{name} is {value:g}, and the run would stop here")
        yield from self._no_longer_stopped()

    def _no_longer_stopped(self) -> Iterator[Difference]:
        head = self._run.head
        stop = head.stop or {}
        name = str(stop.get("limit"))
        if head.status != Status.INTERRUPTED or stop.get("reason") != "limit" or not head.steps:
            return
        now = self._changed_limits(head.steps)
        if name in now and (now[name] is None or now[name] > (stop.get("used") or 0)):
            value = "no limit" if now[name] is None else f"{now[name]:g}"
            yield _limit(head.steps, name, f"the run was stopped by {name}, which is {value} now")

    def _changed_limits(self, step: int) -> dict[str, Any]:
        """The limits that are others now. One that was given to the run itself, beside the agent, still holds."""
        head = self._recording.head_at(step)
        then, now = noted(head, "limits"), asdict(self._agent.limits)
        if not isinstance(then, dict):
            return {}
        in_force = limits_in_force(self._agent.limits, head.limits, {})
        names = now.keys() - {"max_seconds"}  # it takes none to retrace a run
        return {name: now[name] for name in names if in_force[name] == then.get(name) != now[name]}

    # --- what would have been made of the answers -----------------------------------------------------------------

    def _outputs(self) -> Iterator[Difference]:
        for entry in self._run.entries:
            if is_repair(entry) and not isinstance(self._output(entry.step), InvalidOutputError):
                yield _output(entry.step, "the answer is accepted, and was sent back to be repaired then")
        head = self._run.head
        if head.status != Status.COMPLETED or head.error or head.finish_reason == "finalized" or not head.steps:
            return
        output = self._output(head.steps)
        if isinstance(output, InvalidOutputError):
            yield _output(head.steps, _in_a_line(output.message))
        elif output != head.output:
            yield _output(head.steps, "the output made of the answer is another")

    def _output(self, step: int) -> Any:
        """What the agent makes of the answer, or its refusal."""
        try:
            return plain(parse(self._agent, last_text(self._entries(step))))
        except (InvalidOutputError, ValueNotStorable) as error:
            return error


def _was_refused(call: ToolCallEntry, result: ToolResultEntry) -> bool:
    """True when the engine gave the result in place of the tool, for what the call said."""
    signs = (no_tool(call), UNREADABLE, f"the arguments of {call.name} ")
    return result.kind == "error" and result.output.startswith(signs)


def _begins_alike(result: ToolResultEntry | None, refusal: str) -> bool:
    """True when the recorded refusal is this one, as far as a trim has left it."""
    kept = (result.trimmed or {}).get("kept") if result else None
    return result is not None and result.output[:kept] == refusal[:kept]


def _in_a_line(message: str) -> str:
    """A message with a reason on each of its lines, as one line."""
    first, *reasons = message.splitlines() or [""]
    return " ".join([first, "; ".join(reason.strip().removeprefix("- ") for reason in reasons)]).rstrip()


def _limit(step: int, name: str, message: str) -> Difference:
    return Difference(step=step, until=step, part="limits", name=name, message=message)


def _output(step: int, message: str) -> Difference:
    return Difference(step=step, until=step, part="output", message=message)
