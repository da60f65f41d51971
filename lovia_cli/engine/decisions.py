"""The decisions of opening a run: pure functions of what is stored and what is asked (R4, R5, K1 to K6)."""

from __future__ import annotations

from shlex import quote

from lovia_cli.engine.conversation import Conversation
from lovia_cli.engine.inputs import is_retry, new_inputs, repeats_start
from lovia_cli.engine.limits import limits_in_force, reached, used
from lovia_cli.engine.options import IfRunExists
from lovia_cli.engine.order import RunOrder
from lovia_cli.errors import ConflictError, RunExistsError, RunNotFoundError, UserError
from stores.entries import InputEntry, entry_from_json
from stores.ids import as_words
from stores.lines import RunInfo, locked_error
from stores.records import RunHead, RunSnapshot, Segment, Status

Notice = tuple[str, str]
"""A code and a text, said to whoever watches."""

REPEATED: Notice = ("input_repeated", "the run has this input already; it is not sent again")
"""What is said of a retry (K2)."""

HISTORY_REPLACED: Notice = ("history_replaced", "the history that was kept of a deleted run of this id is replaced")
"""What is said of a run that begins under the id of one that has left its history (R4)."""


def session_of(order: RunOrder, run_id: str, stored: RunSnapshot | None) -> str | None:
    """The session that the run belongs to: its own, which must be the one given, if one is given (R4)."""
    own = stored.head.session_id if stored else order.session_id
    if stored is not None and order.session_id is not None and own != order.session_id:
        belongs = f"belongs to session {own!r}" if own is not None else "belongs to no session"
        raise ConflictError(
            f"run {run_id!r} {belongs}, not to {order.session_id!r}", hint="use a new run id, or leave the session out"
        )
    if own is not None and order.session is None:
        raise UserError(f"run {run_id!r} belongs to session {own!r}", hint="pass session=, the store of its session")
    return own


def refuse_lost_restart(run_id: str, segment: Segment | None, policy: IfRunExists) -> None:
    """Refuse to restart a run whose segment is stored: the new one could never be appended (R4)."""
    if policy == "restart" and segment is not None:
        raise ConflictError(
            f"run {run_id!r} is finished and stored in its session; a restart of it could not be appended",
            hint="use a new run id, or rewind the session first",
        )


def refuse_delete_without_session(order: RunOrder, conversation: Conversation) -> None:
    """Dropping a checkpoint that is in no session would leave nothing of the run (R7)."""
    if order.checkpoint and order.checkpoint.delete_on_success and conversation.session is None:
        raise UserError("delete_on_success needs a session", hint="name one: --session ID")


def refuse_truncated(run_id: str, session_id: str | None, segment: Segment | None) -> None:
    """Refuse a run whose end a rewind has cut off: neither its answer nor what led to it is whole any more (R4)."""
    if segment is not None and segment.truncated:
        raise ConflictError(
            f"the end of run {run_id!r} was cut off session {session_id!r} by a rewind",
            hint="go on in the session under a new run id",
        )


def refuse_stored_run(run_id: str) -> None:
    """A caller's snapshot replaces a stored run only when told so (R8)."""
    raise RunExistsError(
        f"run {run_id!r} is stored already, and a snapshot to resume from was given",
        hint='leave resume_from out to continue the stored run, or replace it: if_run_exists="restart"',
    )


def exists(run_id: str, stored: RunSnapshot | None, policy: IfRunExists) -> bool:
    """True when the stored run is to be continued or replayed, False to start afresh; raises as R4 says."""
    if stored is None and policy == "resume_only":
        raise RunNotFoundError(f"no run {run_id!r}", hint="see what there is: lovia history")
    if stored is not None and policy == "fail":
        raise RunExistsError(
            f"run {run_id!r} exists already ({stored.status})", hint="use a new run id, or --if-run-exists resume"
        )
    return stored is not None and policy != "restart"


def fresh_inputs(order: RunOrder, conversation: Conversation) -> tuple[list[InputEntry], list[Notice]]:
    """The inputs of a new run; system messages are for a session's first run only (K5)."""
    inputs = new_inputs(order.input, conversation.entries())
    notices: list[Notice] = []
    if conversation.segments and any(entry.role == "system" for entry in inputs):
        inputs = [entry for entry in inputs if entry.role != "system"]
        notices.append(("system_ignored", "system messages are ignored: the session has its own"))
    if not inputs:
        raise UserError("there is no input to start a run with", hint='give one: lovia run "what to do"')
    return inputs, notices


def ignored(order: RunOrder, stored: RunSnapshot, conversation: Conversation) -> bool:
    """True when the input given under a run id is not the one the run started from (R5)."""
    given = new_inputs(order.input, [*conversation.entries(), *stored.entries])
    return bool(given) and not repeats_start(given, stored.entries)


def steering(given: list[InputEntry], stored: RunSnapshot) -> list[InputEntry]:
    """What of ``given`` is to be queued to the stored run: nothing when it repeats what it has (K2)."""
    queued = [entry_from_json(data) for data in stored.head.queued_input]
    waiting = [entry for entry in queued if isinstance(entry, InputEntry)]
    users = [entry for entry in given if entry.role == "user"]
    return [] if not users or is_retry(users, stored.entries, waiting) else users


def refuse_input_when_completed(stored: RunSnapshot) -> None:
    """A completed run takes no more input; its session does (R5)."""
    session = stored.head.session_id
    hint = (
        f"go on in its session: lovia run TEXT --session {quote(session)}" if session else "start a new run: lovia run"
    )
    raise ConflictError(f"run {stored.run_id!r} is completed and takes no more input", hint=hint)


def refuse_replay(stored: RunSnapshot, *, is_executed: bool) -> None:
    """Only a completed run has an answer to give again. One that is being executed cannot be resumed either."""
    words = as_words(stored.run_id)
    raise ConflictError(
        f"run {stored.run_id!r} is {stored.status} and has no answer yet",
        hint=f"wait for its end, or stop it: lovia cancel {words}"
        if is_executed
        else f"go on with it: lovia resume {words}",
    )


def choose(runs: list[RunInfo]) -> RunInfo | None:
    """The unfinished run that the session's next input goes to: the one updated last (K6), if there is one."""
    for run in runs:
        if run.owner is not None:
            raise locked_error(run.run_id, run.owner)
    return next((run for run in runs if run.damage is None), None)


def beside(runs: list[RunInfo], chosen: str) -> list[Notice]:
    """What to say of the session's other unfinished runs (K6)."""
    notices: list[Notice] = []
    for run in runs:
        if run.damage is not None:
            notices.append(("damaged_run", f"run {run.run_id} of this session cannot be read: {run.damage}"))
        elif run.run_id != chosen and run.status != Status.COMPLETED:
            notices.append(("unfinished", f"run {run.run_id} of this session is unfinished ({run.status})"))
    return notices


def refuse_other_agent(order: RunOrder, stored: RunSnapshot) -> None:
    """Refuse to continue a run with an agent that is not its own (K6)."""
    if stored.head.agent != order.agent.name:
        raise ConflictError(
            f"run {stored.run_id!r} is unfinished and belongs to agent {stored.head.agent!r}, "
            f"which {order.agent.name!r} does not know",
            hint=f"run it with its own agent file, or end it first: lovia runs finalize {as_words(stored.run_id)}",
        )


def used_up(order: RunOrder, head: RunHead) -> bool:
    """True when the run stopped at a limit that is still used up under the limits given now (K2)."""
    if not head.stop or head.stop.get("reason") != "limit":
        return False
    limits = limits_in_force(order.agent.limits, head.limits, order.limits)
    return reached(limits, used(head, head.active_seconds), but="") is not None
