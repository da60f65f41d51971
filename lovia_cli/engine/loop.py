"""The loop: drain, ask, save, act, save, finish. The only mutable state of a run is its journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lovia_cli.engine.calls import Calls, Emit, call_key
from lovia_cli.engine.conversation import Conversation, system_inputs
from lovia_cli.engine.hooking import Hooking
from lovia_cli.engine.journal import Journal
from lovia_cli.engine.limits import before_model
from lovia_cli.engine.offered import offered_tools
from lovia_cli.engine.order import RunOrder
from lovia_cli.engine.output import parse, repair_message, storable, was_repaired
from lovia_cli.engine.stopping import unless_stopped
from lovia_cli.errors import InvalidOutputError
from lovia_cli.models.base import ModelRequest, ModelResponse, ReasoningDelta, TextDelta
from lovia_cli.models.prices import cost_usd
from lovia_cli.models.retry import with_retries
from lovia_cli.models.transcript import WireTranscript
from stores.closing import last_text
from stores.entries import JSON, AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, entry_to_json
from stores.fields import changed
from stores.records import Status, Usage
from stores.values import ValueNotStorable, clean_text, plain


class Loop:
    """One run, from wherever its journal stands to its end."""

    def __init__(
        self, order: RunOrder, journal: Journal, conversation: Conversation, emit: Emit, *, resumed: bool
    ) -> None:
        self._order = order
        self._agent = order.agent
        self._journal = journal
        self._emit = emit
        self._tools = offered_tools(order, journal, conversation)
        self._hooks = Hooking(order, journal, resumed=resumed)
        self.calls = Calls(order, journal, emit, self._tools, self._hooks)
        self._wire = WireTranscript()
        self._sent = 0
        self.output: Any = None
        for segment in conversation.segments:
            self._wire.add(_spoken(segment.entries))
        self._system = self._render_system(conversation)

    async def go(self, new_inputs: Sequence[InputEntry] = ()) -> None:
        """Run to the end. Whatever stops the run before is raised, with everything recorded so far saved."""
        await self.accept(new_inputs)
        await self._hooks.tell("on_start")
        await self.drain()
        while not self.answered() or await self.repair():
            await self.ask()
            await self.calls.act(self._journal.pending())
            await self.take_queued()
        await self.finish()

    async def accept(self, inputs: Sequence[InputEntry]) -> None:
        """Make new input durable: in the queue while calls are pending, else in the transcript (K2)."""
        if not inputs:
            return
        queued = bool(self._journal.pending() or self._journal.head.queued_input)
        if queued:
            queue = [*self._journal.head.queued_input, *(entry_to_json(entry) for entry in inputs)]
            await self._journal.record("input", queued_input=queue)
        else:
            await self._journal.record("input", *self._journal.placed(inputs))
        for entry in inputs:
            self._emit("input.accepted", text=entry.text, queued=queued)

    async def drain(self) -> None:
        """Give every call of the step a result before anything else: run it, or cancel it for new input (Z1, Z2)."""
        stopped = set(self._journal.head.stopped_calls) if self._journal.head.queued_input else set()
        await self.calls.cancel([call for call in self._journal.pending() if call_key(call) in stopped])
        await self.calls.act(self._journal.pending())
        await self.take_queued()

    async def take_queued(self) -> None:
        """Move accepted input into the transcript, which it may enter only here: after all results (Z4)."""
        if queued := self._journal.queued():
            await self._journal.record("input", *self._journal.placed(queued), queued_input=[])

    def answered(self) -> bool:
        """True when the last response asked for no tool and nothing was sent since."""
        last = self._journal.entries[-1]
        return isinstance(last, AssistantTextEntry | ReasoningEntry)

    async def ask(self) -> None:
        """One model response, saved before any of its tools runs (R1)."""
        if limit := before_model(self._journal):
            raise limit
        step = self._journal.head.steps + 1
        request = self._request()
        await self._hooks.tell("before_model", request)
        self._emit("model.started", step=step, model=self._agent.model.id)
        response = await unless_stopped(self._order.stop, self._respond(request, step))
        await self._save(response, step)
        await self._hooks.tell("after_model", response)

    def _request(self) -> ModelRequest:
        self._wire.add(_spoken(self._journal.entries[self._sent :]))
        self._sent = len(self._journal.entries)
        return ModelRequest(
            run_id=self._journal.run_id,
            agent=self._agent.name,
            number=self._journal.head.responses.get(self._agent.name, 0) + 1,
            system=self._system or None,
            entries=self._wire.entries,
            tools=[tool.spec for tool in self._tools],
            settings=self._agent.model_settings,
            output_schema=self._agent.output_schema,
        )

    async def _respond(self, request: ModelRequest, step: int) -> ModelResponse:
        def retried(attempt: int, wait: float, error: Exception, other: str | None) -> None:
            wait = round(wait, 3)
            self._emit("model.retry", step=step, attempt=attempt, wait=wait, fallback=other, message=str(error))

        response: ModelResponse | None = None
        async for delta in with_retries(self._agent.model, request, on_retry=retried):
            if isinstance(delta, TextDelta):
                self._emit("text.delta", step=step, text=clean_text(delta.text))
            elif isinstance(delta, ReasoningDelta):
                self._emit("reasoning.delta", step=step, text=clean_text(delta.text))
            else:
                response = delta
        assert response is not None
        return response

    async def _save(self, response: ModelResponse, step: int) -> None:
        head, usage = self._journal.head, response.usage
        entries, extra = recorded(response, step), _stored_form(response.extra)
        cost = cost_usd(response.model or self._agent.model.id, usage)
        await self._journal.record(
            "response",
            *entries,
            step=step,
            info={
                "model": response.model,
                "finish_reason": response.finish_reason,
                "usage": usage.as_json(),
                "cost_usd": cost,
                **({"response": extra} if extra else {}),
            },
            cost_usd=head.cost_usd if cost is None else (head.cost_usd or 0.0) + cost,
            cost_unknown=head.cost_unknown + (cost is None),
            usage=Usage.from_json(head.usage).plus(usage).as_json(),
            responses={**head.responses, self._agent.name: head.responses.get(self._agent.name, 0) + 1},
            last_input_tokens=usage.input_tokens,
            finish_reason=response.finish_reason,
            model=response.model or self._agent.model.id,
        )
        self._emit(
            "model.finished",
            step=step,
            model=response.model,
            text="".join(entry.text for entry in entries if isinstance(entry, AssistantTextEntry)),
            tool_calls=[_call_json(entry) for entry in entries if isinstance(entry, ToolCallEntry)],
            finish_reason=response.finish_reason,
            usage=usage.as_json(),
            cost_usd=cost,
        )

    async def repair(self) -> bool:
        """True when the answer is not the output asked for and the model has been told so: it is asked once more.

        The message is one of the run's own entries (S5). Raises `InvalidOutputError` when the second answer is none
        either.
        """
        try:
            self.output = parse(self._agent, last_text(self._journal.step_entries))
        except InvalidOutputError as error:
            if was_repaired(self._journal.entries):
                raise
            await self._journal.record("input", repair_message(error, self._journal.head.steps))
            self._emit("output.invalid", step=self._journal.head.steps, message=error.message)
            return True
        return False

    async def finish(self) -> None:
        """Complete the run: its output is what its last step says, once every guardrail has passed it."""
        await self._hooks.check(self.output)
        await self._hooks.tell("on_end", self.output)
        output, error = storable(self.output)
        await self._journal.record(
            "completed", status=Status.COMPLETED, output=output, stop=None, error=error, stopped_calls=[]
        )

    def _render_system(self, conversation: Conversation) -> str:
        """The instructions, rendered again at every start (Z1), with the system messages of the conversation."""
        variables = self._journal.head.config.get("variables") or {}
        parts = [
            self._agent.render_instructions(variables),
            system_inputs(conversation.entries()),
            system_inputs(self._journal.entries),
        ]
        return "\n\n".join(part for part in parts if part)


def recorded(response: ModelResponse, step: int) -> list[Entry]:
    """The response's entries as they are stored: numbered, in clean Unicode, and at least one.

    A private part that no store can hold is left out.
    """
    entries: list[Entry] = []
    position = 0
    for entry in response.entries:
        provider = _stored_form(entry.provider)
        if isinstance(entry, ToolCallEntry):
            position += 1
            entries.append(
                changed(
                    entry,
                    id=clean_text(entry.id),
                    name=clean_text(entry.name),
                    arguments=clean_text(entry.arguments),
                    step=step,
                    position=position,
                    provider=provider,
                )
            )
        else:
            entries.append(changed(entry, text=clean_text(entry.text), step=step, provider=provider))
    return entries or [AssistantTextEntry(text="", step=step)]


def _stored_form(private: JSON) -> JSON:
    """A model's private part as it is stored; None when it cannot be: the answer is paid for, and worth more."""
    try:
        return plain(private)
    except ValueNotStorable:
        return None


def _call_json(call: ToolCallEntry) -> dict[str, Any]:
    return {"position": call.position, "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _spoken(entries: Sequence[Entry]) -> list[Entry]:
    """What goes to the model as conversation: all but system messages, which are part of the system prompt."""
    return [entry for entry in entries if not (isinstance(entry, InputEntry) and entry.role == "system")]
