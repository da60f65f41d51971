"""A run as it is compared: what it was asked, and its steps, each with the results of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lovia_cli.comparing.values import canonical, meaning
from stores.entries import (
    JSON,
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    entry_from_json,
    pair,
)
from stores.fields import changed
from stores.records import RunHead, RunSnapshot, Usage

Key = tuple[object, ...]
"""What two things have in common that are the same. Ids of calls, and what only a provider understands, are no part."""


@dataclass(slots=True, frozen=True)
class Act:
    """One tool call with its result, which is None while the call is pending."""

    call: ToolCallEntry
    result: ToolResultEntry | None
    position: int

    @property
    def place(self) -> str:
        """``STEP.POSITION``."""
        return f"{self.call.step}.{self.position}"

    def asked(self) -> Key:
        return (self.call.name, meaning(self.call.arguments))

    def key(self) -> Key:
        result = self.result
        got = None if result is None else (result.kind, result.is_error, meaning(result.output))
        return (*self.asked(), got)


@dataclass(slots=True, kw_only=True)
class Step:
    """One model response, the results of its calls, and what was said to the run after them.

    Step 0 has nothing but ``inputs``: what the run was asked.
    """

    number: int
    reasoning: str = ""
    text: str = ""
    acts: list[Act] = field(default_factory=list)
    inputs: list[InputEntry] = field(default_factory=list)

    def key(self) -> Key:
        said = tuple((entry.role, entry.text, canonical(entry.parts)) for entry in self.inputs)
        return (self.reasoning, self.text, tuple(act.key() for act in self.acts), said)

    def as_json(self) -> dict[str, JSON]:
        return {
            "step": self.number,
            "reasoning": self.reasoning,
            "text": self.text,
            "calls": [_call_json(act) for act in self.acts],
            "inputs": [{"role": entry.role, "text": entry.text, "parts": entry.parts} for entry in self.inputs],
        }


def _call_json(act: Act) -> dict[str, JSON]:
    result = act.result
    return {
        "position": act.position,
        "name": act.call.name,
        "arguments": act.call.arguments,
        "result": None
        if result is None
        else {"output": result.output, "is_error": result.is_error, "kind": result.kind},
    }


@dataclass(slots=True, frozen=True, kw_only=True)
class Fork:
    """Where a fork comes from, and what was changed in it (`patch_between`): None when that is not kept any more."""

    source: str
    save: int | None = None
    step: int | None = None
    patch: list[dict[str, JSON]] | None = None


@dataclass(slots=True, kw_only=True)
class Trajectory:
    """One side of a comparison.

    ``config`` is what the run was started with. ``upto`` is the last step that is looked at, None for all of them;
    ``usage`` and ``cost_usd`` are for the steps looked at, None where they are not known. A part of a run has no
    ``finish_reason``.
    """

    name: str
    opening: Step
    steps: list[Step]
    run_id: str | None = None
    session_id: str | None = None
    agent: str = ""
    model: str = ""
    status: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    upto: int | None = None
    fork: Fork | None = None
    config: dict[str, JSON] = field(default_factory=dict)

    @staticmethod
    def of(source: Trajectory | RunSnapshot | Sequence[Entry], name: str = "") -> Trajectory:
        """The whole of a run, or of a transcript that is its entries alone."""
        if isinstance(source, Trajectory):
            return source
        if not isinstance(source, RunSnapshot):
            opening, steps = _steps(source)
            return Trajectory(name=name, opening=opening, steps=steps)
        head = source.head
        opening, steps = _steps(source.entries)
        (steps[-1] if steps else opening).inputs.extend(_queued(head))
        return Trajectory(
            name=name or source.run_id,
            opening=opening,
            steps=steps,
            run_id=source.run_id,
            session_id=head.session_id,
            agent=head.agent,
            model=str((head.fingerprint or {}).get("model") or ""),
            status=str(head.status),
            finish_reason=head.finish_reason,
            usage=Usage.from_json(head.usage) if head.usage else None,
            cost_usd=None if head.cost_unknown else head.cost_usd,
            fork=_fork(head.parent),
            config=head.config,
        )

    def to_step(self, last: int, spent: RunHead | None = None) -> Trajectory:
        """Steps 1 to ``last`` of it. ``spent`` is the run's head after that step, where it is kept."""
        return replace(
            self,
            steps=[step for step in self.steps if step.number <= last],
            upto=last,
            finish_reason=None,
            usage=Usage.from_json(spent.usage) if spent and spent.usage else None,
            cost_usd=spent.cost_usd if spent and not spent.cost_unknown else None,
        )

    def acts(self) -> Iterator[Act]:
        for step in self.steps:
            yield from step.acts

    def as_json(self) -> dict[str, JSON]:
        fork = self.fork
        return {
            "name": self.name,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "upto": self.upto,
            "agent": self.agent or None,
            "model": self.model or None,
            "status": self.status,
            "finish_reason": self.finish_reason,
            "steps": len(self.steps),
            "tool_calls": sum(1 for _ in self.acts()),
            "usage": self.usage.as_json() if self.usage else None,
            "cost_usd": self.cost_usd,
            "forked_from": None
            if fork is None
            else {"run_id": fork.source, "save": fork.save, "step": fork.step, "patch": fork.patch},
        }


def _fork(parent: dict[str, JSON] | None) -> Fork | None:
    if not parent:
        return None
    return Fork(source=str(parent.get("run_id")), save=parent.get("save"), step=parent.get("step"))


def _queued(head: RunHead) -> list[InputEntry]:
    """Inputs that were accepted and wait for open calls: they will stand after the last step there is."""
    entries = [entry_from_json(data) for data in head.queued_input]
    return [entry for entry in entries if isinstance(entry, InputEntry)]


def _steps(entries: Iterable[Entry]) -> tuple[Step, list[Step]]:
    """The input and the steps of a run's own entries."""
    numbered = _numbered(entries)
    opening, steps = Step(number=0), dict[int, Step]()
    for entry in numbered:
        step = steps.setdefault(entry.step, Step(number=entry.step)) if entry.step else opening
        if isinstance(entry, InputEntry):
            step.inputs.append(entry)
        elif isinstance(entry, AssistantTextEntry):
            step.text += entry.text
        elif isinstance(entry, ReasoningEntry):
            step.reasoning += "\n" + entry.text if step.reasoning else entry.text
    for call, result in pair(numbered):
        acts = (steps[call.step] if call.step else opening).acts
        acts.append(Act(call, result, call.position or len(acts) + 1))
    return opening, [steps[number] for number in sorted(steps)]


def _numbered(entries: Iterable[Entry]) -> list[Entry]:
    """The entries, in steps. A transcript of another writer may have no numbers: a response begins a step there."""
    listed = list(entries)
    if any(entry.step for entry in listed):
        return listed
    out: list[Entry] = []
    step, responding = 0, False
    for entry in listed:
        is_response = not isinstance(entry, InputEntry | ToolResultEntry)
        step += is_response and not responding
        responding = is_response
        out.append(changed(entry, step=step))
    return out
