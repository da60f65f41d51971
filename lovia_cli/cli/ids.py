"""Which record an id on the command line means (the last paragraph of the contract's section H)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from lovia_cli.errors import ConflictError, RunNotFoundError, SessionNotFoundError, StoreDamagedError, UserError
from lovia_cli.wiring import Stores
from stores.entries import Entry, ToolResultEntry
from stores.ids import as_words, check_id
from stores.lines import Damage, RunInfo, SessionInfo
from stores.lookup import kept_info, open_infos, session_info
from stores.records import Segment, Status

Kind = Literal["run", "session"]


@dataclass(slots=True, frozen=True)
class Meant:
    """A run to go on with, and the config it was started with. Of some only the segment is left."""

    run_id: str
    session_id: str | None
    config: Any
    is_completed: bool = True

    @staticmethod
    def of(info: RunInfo) -> Meant:
        return Meant(info.run_id, info.session_id, info.config, info.status == Status.COMPLETED)


@dataclass(slots=True, frozen=True)
class Thing:
    """A record itself: a run, or a session with its segments and its unfinished runs, updated last first."""

    run: RunInfo | None = None
    session_id: str = ""
    segments: list[Segment] = field(default_factory=list)
    unfinished: list[RunInfo] = field(default_factory=list)

    def configs(self) -> Iterator[Any]:
        """What its runs were started with, as far as that is kept."""
        yield from (run.config for run in [*([self.run] if self.run else []), *self.unfinished])
        yield from (segment.told.get("config") for segment in self.segments)


def split(given: str) -> tuple[Kind | None, str]:
    """The prefix ``run:`` or ``session:``, if there is one, and the id, checked."""
    for kind in ("run", "session"):
        if given.startswith(f"{kind}:"):
            return kind, check_id(given.removeprefix(f"{kind}:"), f"{kind} id")
    return None, check_id(given, "id")


async def run_meant(stores: Stores, given: str | None) -> Meant:
    """The run that ``given`` names: a run, else a session's unfinished run updated last, else its last.

    When it names both and they lead to different runs, that is an error; so is nothing at all. None is the run with
    the newest save (``--last``).
    """
    if given is None:
        return Meant.of(await _readable(stores, await _newest_run(stores)))
    kind, name = split(given)
    run = await stores.runs.info(name) if kind != "session" else None
    by_run = Meant.of(await _readable(stores, run)) if run else None
    by_session = await _run_of_session(stores, name) if kind != "run" else None
    if by_run and by_session and by_run.run_id != by_session.run_id:
        raise _ambiguous(name, f"its run {by_session.run_id!r} is another")
    if meant := by_run or by_session:
        return meant
    if kind != "run" and (lost := await _lost_session(stores, name)):
        return Meant.of(await _readable(stores, lost.unfinished[0]))
    raise await not_found(stores, kind, name)


async def thing_meant(stores: Stores, given: str | None) -> Thing:
    """The run or the session itself; when both exist, that is an error. None is the run with the newest save."""
    if given is None:
        return Thing(run=await _readable(stores, await _newest_run(stores)))
    kind, name = split(given)
    run = await stores.runs.info(name) if kind != "session" else None
    session = await session_named(stores, name) if kind != "run" else None
    if run and session:
        raise _ambiguous(name, "both exist")
    if run:
        return Thing(run=await _readable(stores, run))
    session = session or (await _lost_session(stores, name) if kind != "run" else None)
    if session:
        return session
    raise await not_found(stores, kind, name)


async def session_meant(stores: Stores, given: str | None) -> Thing:
    """The session of that name, for commands that take nothing else. None is the one with the newest save."""
    kind, name = split(given) if given is not None else ("session", await _newest_session(stores))
    if kind != "run" and (session := await session_named(stores, name) or await _lost_session(stores, name)):
        return session
    raise await not_found(stores, "session", name)


async def _newest_run(stores: Stores) -> RunInfo:
    """The run with the newest save."""
    runs = await stores.runs.runs()
    for run in runs:
        _check_tells_time(f"run {run.run_id!r}", run)
    if not runs:
        raise RunNotFoundError("there is no run yet", where=str(stores.location), hint="start one: lovia run")
    return max(runs, key=_updated)


async def _newest_session(stores: Stores) -> str:
    """The session with the newest save, be it of a run that is unfinished in it."""
    times: dict[str, float] = {}
    for session in await stores.sessions.sessions():
        _check_tells_time(f"session {session.session_id!r}", session)
        times[session.session_id] = _updated(session)
    for run in await stores.runs.runs():
        _check_tells_time(f"run {run.run_id!r}", run)
        if run.session_id is not None:
            times[run.session_id] = max(_updated(run), times.get(run.session_id, 0.0))
    if not times:
        raise SessionNotFoundError(
            "there is no session yet", where=str(stores.location), hint="start one: lovia run --session ID"
        )
    return max(times, key=times.__getitem__)


def _updated(info: RunInfo | SessionInfo) -> float:
    return info.updated_at or 0.0


def _check_tells_time(what: str, info: RunInfo | SessionInfo) -> None:
    """Raise for one that damage keeps from telling its time: it may be the newest, and no other is what was meant."""
    if info.damage and info.updated_at is None:
        error = _damaged(what, info.damage)
        error.message = f"which is the newest cannot be told: {error.message}"
        error.hint = "name the one you mean, or repair the store with: lovia doctor --repair"
        raise error


async def kept_history(stores: Stores, run_id: str) -> RunInfo | None:
    """The line of a deleted run whose history was kept."""
    return await kept_info(stores.runs, run_id)


async def session_named(stores: Stores, name: str) -> Thing | None:
    """The session ``name``; it exists as soon as a run has been started in it, and when it was rewound to nothing.

    A completed run whose segment a crash has kept from the session counts as unfinished: going on heals it (R7).
    """
    runs = await open_infos(stores.runs, name)  # before the segments: a run that ends in between is in one of them
    segments = await stores.sessions.segments(name)
    finished = {segment.run_id for segment in segments}
    runs = [run for run in runs if run.run_id not in finished]
    if not segments and not runs and await session_info(stores.sessions, name) is None:
        return None
    return Thing(session_id=name, segments=segments, unfinished=_unfinished_first(runs))


async def vanished_session(stores: Stores, given: str) -> Thing | None:
    """The session of that name of which nothing is left but runs that name it; None when it is not so."""
    kind, name = split(given)
    if kind == "run" or await session_info(stores.sessions, name) is not None:
        return None
    return await _lost_session(stores, name)


async def _lost_session(stores: Stores, name: str) -> Thing | None:
    """A session of which damage has left nothing but finished runs. Only a listing finds it: asked for last of all."""
    if await kept_history(stores, name):
        return None
    runs = [run for run in await stores.runs.runs() if run.session_id == name]
    return Thing(session_id=name, unfinished=_unfinished_first(runs)) if runs else None


def _unfinished_first(runs: list[RunInfo]) -> list[RunInfo]:
    return sorted(runs, key=lambda run: run.status == Status.COMPLETED)


async def is_session(stores: Stores, name: str) -> bool:
    """True when there is a session ``name``.

    Its line of the listing is looked up, and its unfinished runs where it has none; its history is not read.
    """
    return await session_info(stores.sessions, name) is not None or bool(await open_infos(stores.runs, name))


async def _run_of_session(stores: Stores, name: str) -> Meant | None:
    session = await session_named(stores, name)
    if session is None:
        return None
    if session.unfinished:
        return Meant.of(await _readable(stores, session.unfinished[0]))
    if not session.segments:
        raise RunNotFoundError(f"session {name!r} has no run", hint="start one: lovia run --session SESSION TEXT")
    last = session.segments[-1]
    if last.truncated:
        raise ConflictError(
            f"the last run of session {name!r} was cut short by a rewind, and cannot go on",
            hint="start another: lovia run --session SESSION TEXT",
        )
    info = await stores.runs.info(last.run_id)
    if info and info.session_id != name and await _has_same(stores, info.session_id, last):
        return Meant.of(await _readable(stores, info))  # the session is a fork, and shares what that one ended with
    return Meant(last.run_id, name, info.config if info else last.told.get("config"))


async def _has_same(stores: Stores, session_id: str | None, segment: Segment) -> bool:
    """True when the segment is that session's as well, but for outputs that were trimmed in one of them."""

    def said(entries: list[Entry]) -> list[Entry]:
        return [entry for entry in entries if not isinstance(entry, ToolResultEntry)]

    others = await stores.sessions.segments(session_id) if session_id is not None else []
    return any(other.run_id == segment.run_id and said(other.entries) == said(segment.entries) for other in others)


async def _readable(stores: Stores, info: RunInfo) -> RunInfo:
    """A run's line as it is; raises what keeps the record behind it from being read, such as damage (D3)."""
    if info.damage:
        with suppress(StoreDamagedError):
            await stores.runs.load(info.run_id)
        raise damaged_run(info.run_id, info.damage)
    return info


def damaged_run(run_id: str, damage: Damage) -> StoreDamagedError:
    """The error for a run whose line of the listing tells of damage."""
    return _damaged(f"run {run_id!r}", damage)


def _damaged(what: str, damage: Damage) -> StoreDamagedError:
    return StoreDamagedError(f"{what} cannot be read: {damage.what}", where=damage.where)


def _ambiguous(name: str, why: str) -> UserError:
    run, session = (as_words(f"{kind}:{name}") for kind in ("run", "session"))
    return UserError(f"{name!r} names a run and a session, and {why}", hint=f"say which: {run} or {session}")


async def not_found(stores: Stores, kind: Kind | None, name: str) -> UserError:
    """The error for an id that nothing has, with those that look like it."""
    from difflib import get_close_matches

    if kind != "session" and await kept_history(stores, name):
        words = as_words(name)
        return RunNotFoundError(
            f"run {name!r} was deleted, and only its history is kept",
            where=str(stores.location),
            hint=f"look at it: lovia history {words}; or begin a run from it: lovia fork --from-step N {words}",
        )
    runs = [run.run_id for run in await stores.runs.runs()] if kind != "session" else []
    sessions = [session.session_id for session in await stores.sessions.sessions()] if kind != "run" else []
    near = get_close_matches(name, dict.fromkeys([*runs, *sessions]), n=3, cutoff=0.6)
    hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
    hint += "List them with: lovia history" if hint else "list them with: lovia history"
    error = SessionNotFoundError if kind == "session" else RunNotFoundError
    what = kind or "run or session"
    return error(f"no {what} {name!r}", where=str(stores.location), hint=hint)
