"""``lovia show``: the transcript of a run or a session, to read."""

from __future__ import annotations

import re
from typing import Annotated

from lovia_cli.cli.answers import Answer
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.ids import Thing, thing_meant
from lovia_cli.cli.listed import Item, Transcript
from lovia_cli.cli.naming import Last, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument, Option
from lovia_cli.errors import RunNotFoundError, StoreDamagedError, UserError
from lovia_cli.wiring import Stores, open_stores
from stores.entries import Entry, ToolCallEntry, ToolResultEntry, entry_from_json, pair

_PLACE = re.compile(r"([0-9]+)\.([0-9]+)")


class PartNotFoundError(RunNotFoundError):
    """The run is there, but not that step or call of it."""

    code = "part_not_found"


def show(
    call: Call,
    name: Annotated[str | None, Argument(metavar="ID", help="A run, or a session.", show_default=False)] = None,
    last: Last = False,
    step: Annotated[int | None, Option("--step", metavar="N", help="One step of a run; 0 is its input.")] = None,
    one: Annotated[
        str | None, Option("--call", metavar="STEP.POSITION|ID", help="One tool call with its whole result.")
    ] = None,
    raw: Annotated[bool, Option("--raw", help="Each entry as it is stored, one JSON object a line.")] = False,
) -> Answer:
    """Print the transcript: a run step by step, a session with its entries numbered from 1."""
    stores = open_stores(call.settings.store)
    return drive_stores(_show(call, stores, named(name, last), step, one, raw))


COMMAND = show


async def _show(call: Call, stores: Stores, name: str | None, step: int | None, one: str | None, raw: bool) -> Answer:
    thing = await thing_meant(stores, name)
    call.secrets.learn_from(*thing.configs())
    transcript = _session(stores, thing) if thing.run is None else await _run(stores, thing)
    transcript.raw = raw
    if step is not None:
        if thing.run is None:
            raise UserError("a session has entries, not steps", hint="show one of its runs: lovia show RUN --step N")
        transcript.items = [item for item in transcript.items if item.entry.step == step]
        if not transcript.items:
            raise PartNotFoundError(f"run {thing.run.run_id!r} has no step {step}", hint=f"it has {thing.run.steps}")
    if one is not None:
        transcript.items = _call(transcript, one)
    transcript.whole = step is None and one is None
    if not transcript.whole:
        transcript.queued = []
    return transcript


def _session(stores: Stores, thing: Thing) -> Transcript:
    rows = [(segment.run_id, entry) for segment in thing.segments for entry in segment.entries]
    items = [Item(n=n, run_id=run_id, entry=entry) for n, (run_id, entry) in enumerate(rows, 1)]
    return Transcript(store=str(stores.location), session_id=thing.session_id, items=items)


async def _run(stores: Stores, thing: Thing) -> Transcript:
    assert thing.run is not None
    snapshot = await stores.runs.load(thing.run.run_id)
    if snapshot is None:
        raise StoreDamagedError(f"run {thing.run.run_id!r} cannot be read", where=str(stores.location))
    items = [Item(n=n, run_id=snapshot.run_id, entry=entry) for n, entry in enumerate(snapshot.entries, 1)]
    head = snapshot.head
    queued = [entry_from_json(data) for data in head.queued_input]
    return Transcript(
        store=str(stores.location), run=thing.run, items=items, queued=queued, output=head.output, error=head.error
    )


def _call(transcript: Transcript, one: str) -> list[Item]:
    """The call and its result; an id that names several calls is an error that lists them."""
    found: list[tuple[ToolCallEntry, ToolResultEntry | None]] = []
    for run_id in dict.fromkeys(item.run_id for item in transcript.items):
        entries = [item.entry for item in transcript.items if item.run_id == run_id]
        found += [(call, result) for call, result in pair(entries) if _is(call, one)]
    if not found:
        raise PartNotFoundError(f"there is no call {one!r}", hint="see them all: lovia show ID")
    if len(found) > 1:
        places = ", ".join(f"{call.step}.{call.position}" for call, _ in found)
        raise UserError(f"{one!r} names {len(found)} calls: {places}", hint="name one of a run by STEP.POSITION")
    wanted: list[Entry] = [entry for entry in found[0] if entry is not None]
    return [item for item in transcript.items if any(item.entry is entry for entry in wanted)]


def _is(call: ToolCallEntry, one: str) -> bool:
    place = _PLACE.fullmatch(one)
    return call.id == one or bool(place and (call.step, call.position) == (int(place[1]), int(place[2])))
