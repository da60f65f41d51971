"""Export and import: what goes out comes in again, equal; what is damaged comes in not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings

from lovia_cli.agent import Agent
from lovia_cli.engine.patching import Patch
from lovia_cli.engine.runner import CheckpointOptions, Runner
from lovia_cli.engine.transfer import import_run, import_session
from lovia_cli.errors import ConflictError, LoviaError, RunExistsError, StoreDamagedError, StoreVersionError
from lovia_cli.models.scripted import ScriptedModel
from stores import codec, shapes
from stores.entries import AssistantTextEntry, InputEntry, ToolCallEntry, ToolResultEntry
from stores.exchange import (
    Exported,
    SessionRecord,
    document_of,
    read_export,
    record_of,
    run_record,
    write_export,
)
from stores.file import FileStore
from stores.memory import InMemoryCheckpointer, InMemorySession
from stores.records import RunHead, RunSnapshot, Save, Segment
from stores.sqlite import SQLiteStore
from tests.engine.kit import FakeTool
from tests.exchange.kit import runs


def jsonl(record: Exported) -> bytes:
    return write_export(record)


def as_json(record: Exported) -> bytes:
    return write_export(record, "json")


FORMS: list[Callable[[Any], bytes]] = [jsonl, as_json]


def run(**head: Any) -> RunSnapshot:
    entries = [
        InputEntry(text="go"),
        ToolCallEntry(id="c", name="work", step=1, position=1),
        ToolCallEntry(id="c", name="work", step=1, position=2),
        ToolResultEntry(call_id="c", output="one", step=1, position=1),
        ToolResultEntry(call_id="c", output="two", step=1, position=2),
        AssistantTextEntry(text="done", step=2),
    ]
    return RunSnapshot(
        run_id="r1", head=RunHead(steps=2, updated_at=7.0, **{"status": "completed", **head}), entries=entries
    )


def stored(run: RunSnapshot) -> RunSnapshot:
    """The run as an import leaves it: one save is its history."""
    return replace(run, head=replace(run.head, save=1))


@given(run=runs())
@settings(max_examples=40, deadline=None)
def test_an_import_of_an_export_gives_an_equal_run_in_either_form(run: RunSnapshot) -> None:
    for form in FORMS:
        record = read_export(form(run), "x.jsonl")
        assert record == run
        assert isinstance(record, RunSnapshot)
        assert asyncio.run(import_run(record, checkpointer=InMemoryCheckpointer())) == stored(run)


STORES = {
    "memory": lambda path: (InMemoryCheckpointer(), InMemorySession()),
    "file": lambda path: ((store := FileStore(path / "s")).checkpointer, store.session),
    "sqlite": lambda path: ((store := SQLiteStore(path / "s.db")).checkpointer, store.session),
}


@pytest.fixture(params=STORES)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return STORES[request.param](tmp_path)


@pytest.mark.anyio
async def test_a_run_and_its_session_are_equal_in_every_store(stores: Any) -> None:
    runs, session = stores
    cut = Segment(run_id="r0", entries=[InputEntry(text="was cut")], truncated=True)
    whole = Segment(run_id="r1", entries=run().entries, meta={"run": {"agent": "a"}})
    record = SessionRecord(session_id="u1", segments=[cut, whole])
    assert await import_session(record, checkpointer=runs, session=session) == "u1"
    assert await session.segments("u1") == [cut, whole]
    given = run(session_id="u1", history_upto="r0", started_at=3.0, state={"n": 1})
    assert await import_run(given, checkpointer=runs, session=session) == stored(given)
    assert await runs.load("r1") == stored(given)
    async with runs.open_runs("u1") as found:
        assert found == []
    with pytest.raises(RunExistsError):
        await import_run(given, checkpointer=runs, session=session)
    with pytest.raises(ConflictError):
        await import_session(record, checkpointer=runs, session=session)
    assert (len(await session.segments("u1")), len(await runs.runs())) == (2, 1)
    assert await session.append("u1", [InputEntry(text="more")], run_id="r2") == "r2"
    assert [segment.run_id for segment in await session.segments("u1")] == ["r0", "r1", "r2"]


@pytest.mark.anyio
async def test_an_empty_session_can_be_imported_too(stores: Any) -> None:
    runs, session = stores
    await import_session(SessionRecord(session_id="u1", segments=[]), checkpointer=runs, session=session)
    assert [info.session_id for info in await session.sessions()] == ["u1"]


def session_json(store: Path) -> Path:
    [place] = store.glob("sessions/*/session.json")
    return place


@pytest.mark.anyio
async def test_an_import_that_was_cut_off_has_left_no_session(tmp_path: Path) -> None:
    """All but the last write is done: the session is not there, and the same import again is."""
    segments = [Segment(run_id=f"r{n}", entries=[InputEntry(text=str(n))]) for n in (1, 2)]
    store = FileStore(tmp_path)
    await store.session.import_segments("u1", segments)
    place = session_json(tmp_path)
    document = orjson.loads(place.read_bytes())
    empty = {"epoch": 0, "count": 0, "entries": 0, "last": None, "last_sum": None, "cleared": True}
    place.write_bytes(codec.encode({key: document[key] for key in document if key not in ("v", "sum")} | empty))
    again = FileStore(tmp_path).session
    assert (await again.segments("u1"), await again.sessions()) == ([], [])
    await again.import_segments("u1", segments[:1])
    assert await again.segments("u1") == segments[:1]


@pytest.mark.anyio
async def test_a5_approvals_and_grants_follow_no_import() -> None:
    waiting = run(status="awaiting_approval", approvals=[{"id": "a1"}], grants=[{"tool": "work"}])
    got = await import_run(waiting, checkpointer=InMemoryCheckpointer())
    assert (got.head.status, got.head.approvals, got.head.grants) == ("interrupted", [], [])


@pytest.mark.anyio
async def test_a_run_is_never_put_into_another_conversation() -> None:
    runs, session = InMemoryCheckpointer(), InMemorySession()
    await session.append("u1", [InputEntry(text="of others")], run_id="other")
    theirs = run(session_id="u1")
    with pytest.raises(ConflictError, match="another conversation"):
        await import_run(theirs, checkpointer=runs, session=session)
    assert await runs.runs() == []
    got = await import_run(theirs, checkpointer=runs, session=session, new_id="mine")
    assert (got.run_id, got.head.session_id) == ("mine", None)
    own = SessionRecord(session_id="u2", segments=[Segment(run_id="r9", entries=[InputEntry(text="x")])])
    await import_run(run(session_id="u2"), checkpointer=runs, session=session)
    with pytest.raises(ConflictError, match="of its own"):
        await import_session(own, checkpointer=runs, session=session)
    assert await import_session(own, checkpointer=runs, session=session, new_id="u3") == "u3"


class Closed(InMemorySession):
    """A session that is too long to be read for a question about one run."""

    async def segments(self, session_id: str) -> list[Segment]:
        raise AssertionError("the session was read")


@pytest.mark.anyio
async def test_a_session_is_asked_for_the_run_and_not_read() -> None:
    checkpointer, session = InMemoryCheckpointer(), Closed()
    for run_id in ("before", "done"):
        await session.append("u1", [InputEntry(text="go")], run_id=run_id)
    for run_id, status in (("next", "interrupted"), ("done", "completed")):
        head = RunHead(status=status, session_id="u1", history_upto="before")
        run = RunSnapshot(run_id=run_id, head=head, entries=[InputEntry(text="go")])
        await import_run(run, checkpointer=checkpointer, session=session)
    async with checkpointer.open_runs("u1") as listed:
        assert [run.run_id for run in listed] == ["next"]


@pytest.mark.anyio
async def test_an_imported_run_goes_on_where_it_stood() -> None:
    runs, elsewhere = InMemoryCheckpointer(), InMemoryCheckpointer()
    agent = Agent(name="a", model=ScriptedModel([{"tool_calls": [{"name": "nosuch", "id": "c"}]}, "done"]))
    await Runner.outcome(agent, "go", limits={"max_steps": 1}, checkpoint=CheckpointOptions(runs, run_id="r1"))
    stopped = await runs.load("r1")
    assert stopped is not None
    await import_run(read_export(jsonl(stopped), "x"), checkpointer=elsewhere)  # type: ignore[arg-type]  # it is a run
    go_on = CheckpointOptions(elsewhere, run_id="r1", if_run_exists="resume_only")
    result = await Runner.run(agent, limits={"max_steps": 9}, checkpoint=go_on)
    assert (result.output, result.steps, result.tool_calls) == ("done", 2, 1)


@pytest.mark.anyio
async def test_a_history_comes_along_and_can_be_forked(stores: Any) -> None:
    """Results in the order they came, a fork that has cut its transcript, and a fork of what was imported."""
    runs, _ = stores
    source = InMemoryCheckpointer()
    turns = [{"tool_calls": [{"name": "work", "id": "c", "arguments": {"x": x}} for x in "ab"]}, {"text": "done"}]
    late = asyncio.Event()

    async def work(arguments: dict[str, Any], _context: Any) -> str:
        if arguments["x"] == "a":
            await late.wait()
        late.set()
        return f"did {arguments['x']}"

    bot = Agent(name="a", model=ScriptedModel(turns), tools=[FakeTool(action=work)])
    await Runner.run(bot, "go", checkpoint=CheckpointOptions(source, run_id="r1"))
    patch = Patch(messages=lambda entries: [*entries[:1], {"role": "user", "content": "other"}])
    await Runner.fork("r1", checkpointer=source, from_step=1, patch=patch, new_id="cut")
    for run_id in ("r1", "cut"):
        record = run_record(run_id, await source.read_log(run_id))
        for form in FORMS:
            assert read_export(form(record), "x") == record
        await import_run(record, checkpointer=runs)
        assert await runs.read_log(run_id) == await source.read_log(run_id)
        assert await runs.history(run_id) == await source.history(run_id)
        assert await runs.load(run_id) == await source.load(run_id)
    results = [save.info["call"] for save in reversed(await runs.history("r1")) if save.event == "result"]
    assert results == ["1.2", "1.1"]
    patch = Patch(tool_results=[("1.1", "rain")])
    forked = await Runner.fork("r1", checkpointer=runs, from_step=1, patch=patch)
    result = await Runner.run(bot, checkpoint=CheckpointOptions(runs, forked.run_id, "resume_only"))
    assert [entry.output for entry in result.entries if isinstance(entry, ToolResultEntry)] == ["rain", "did b"]


@pytest.mark.anyio
async def test_a5_a_history_comes_without_approvals() -> None:
    one = Save(number=1, step=0, at=1.0, event="started", entries=[InputEntry(text="go")], head={"status": "running"})
    waits = {"status": "awaiting_approval", "approvals": [{"id": "a1"}], "grants": [{"tool": "x"}]}
    two = Save(number=2, step=0, at=2.0, event="paused", head=waits)
    got = await import_run(run_record("r1", [one, two]), checkpointer=InMemoryCheckpointer())
    assert (got.head.status, got.head.approvals, got.head.grants, got.head.save) == ("interrupted", [], [], 2)


def test_saves_that_do_not_come_to_the_run_are_refused() -> None:
    one = Save(number=1, step=0, at=1.0, event="started", entries=[InputEntry(text="go")], head={"agent": "a"})
    record = run_record("r1", [one, Save(number=2, step=0, at=2.0, event="failed", head={"status": "failed"})])
    good = orjson.loads(orjson.dumps(document_of(record)))
    assert record_of(deepcopy(good), "x") == record
    for place, key, value in [
        (0, "entries", []), (0, "entries", [1]), (0, "entries", [-1]), (0, "entries", ["x"]), (1, "save", 3),
        (1, "head", []), (1, "head", {"status": "asleep"}), (1, "head", {"status": "completed"}), (1, "step", "1"),
        (1, "keep", "x"), (1, "at", None), (1, "event", 7), (1, "step", 1),
    ]:  # fmt: skip
        bad = deepcopy(good)
        bad["saves"][place][key] = value
        with pytest.raises(StoreDamagedError):
            record_of(bad, "x")
    for saves in ([], None, 7, ["x"], good["saves"][:1]):
        if saves is not None:
            with pytest.raises(StoreDamagedError):
                record_of({**deepcopy(good), "saves": saves}, "x")


# --- what is no export ------------------------------------------------------------------------------------------------


def refused(data: bytes) -> LoviaError:
    with pytest.raises((StoreDamagedError, LoviaError)) as caught:
        read_export(data, "x.jsonl")
    assert caught.value.where
    return caught.value


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_is_cut_off_anywhere_or_has_one_other_byte_is_refused(form: Callable[[Any], bytes]) -> None:
    whole = form(run())
    for end in range(len(whole.rstrip())):
        refused(whole[:end])
    for at in range(0, len(whole.rstrip()) - 75, 3):
        damaged = bytearray(whole)
        damaged[at] ^= 0x01
        try:
            assert read_export(bytes(damaged), "x") == run()  # a blank for another blank, no more
        except LoviaError:
            continue


def test_lines_that_are_missing_double_or_in_another_order_are_refused() -> None:
    lines = jsonl(run()).splitlines(keepends=True)
    for n in range(len(lines)):
        refused(b"".join(lines[:n] + lines[n + 1 :]))
        refused(b"".join(lines[: n + 1] + lines[n:]))
    refused(b"".join([lines[0], lines[2], lines[1], *lines[3:]]))


def test_the_line_is_named() -> None:
    lines = jsonl(run()).splitlines(keepends=True)
    lines[3] = lines[3][:20] + b"\n"
    assert refused(b"".join(lines)).where == "x.jsonl:4"
    without_sum = [*jsonl(run()).splitlines(keepends=True)[:-1], b'{"kind":"end"}\n']
    assert read_export(b"".join(without_sum), "x") == run()
    without_sum[2] = b'{"type":"tool_call","id":5,"name":"x"}\n'
    error = refused(b"".join(without_sum))
    assert (error.where, error.message) == ("x.jsonl:3", "a tool_call entry has a wrong id: 5")
    without_sum[2] = b'{"type":"hologram"}\n'
    assert refused(b"".join(without_sum)).where == "x.jsonl:3"


def changed(**changes: Any) -> dict[str, Any]:
    return orjson.loads(orjson.dumps({**document_of(run()), **changes}))


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        None,
        changed(v="1"),
        changed(kind="chunk"),
        changed(run_id=""),
        changed(run_id="a\nb"),
        changed(run_id=7),
        changed(head=None),
        changed(head={"steps": "2"}),
        changed(head={"steps": 1}),
        changed(head={"steps": 2, "status": "asleep"}),
        changed(head={"steps": 2, "usage": {"input_tokens": "many"}}),
        changed(head={"steps": 2, "queued_input": [{"type": "assistant_text", "text": "x"}]}),
        changed(entries=None),
        changed(entries=[]),
        changed(entries=["text"]),
        changed(entries=[{"type": "input"}]),
        changed(entries=[{"type": "input", "text": "x", "step": -1}]),
        changed(entries=[{"type": "input", "text": "x", "step": True}]),
        changed(entries=[{"type": "input", "text": "x"}, {"type": "tool_result", "call_id": "c", "output": ""}]),
        changed(entries=[{"type": "input", "text": "x", "step": 2}, {"type": "input", "text": "x", "step": 1}]),
        {"v": 1, "kind": "session", "session_id": "u", "segments": [{"run_id": "a", "entries": []}] * 2},
        {"v": 1, "kind": "session", "session_id": "u", "segments": [{"run_id": "a", "meta": [], "entries": []}]},
    ],
)
def test_what_has_the_wrong_shape_is_refused(document: Any) -> None:
    with pytest.raises(StoreDamagedError):
        record_of(document, "x")
    refused(orjson.dumps(document))


def test_d1_a_newer_format_is_refused_and_unknown_fields_are_kept() -> None:
    newer = jsonl(run()).replace(b'"v":1', b'"v":2', 1)
    assert isinstance(refused(newer), StoreVersionError)
    assert isinstance(refused(orjson.dumps(changed(v=2))), StoreVersionError)
    with_more = changed(head={"steps": 2, "brand_new": [1]}, also_new=1)
    record = record_of(with_more, "x")
    assert isinstance(record, RunSnapshot)
    assert record.head.extra == {"brand_new": [1]}


def test_every_field_of_a_head_is_checked() -> None:
    """A field without its test would be taken for one that a newer version has added."""
    assert asdict(RunHead()).keys() - {"extra"} == shapes.HEAD.keys()


def test_d4_deep_nesting_bad_text_and_odd_files_are_clear_errors() -> None:
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    for data in (
        b"", b"\n\n", b"\x00" * 100, b"\xff\xfe{}", b"null", b'"x"', b"{}", b"{}\n{}\n", deep, b"[" * 100_000,
        deep + b"\n{}", b'{"v":1,"kind":"run"}\n\n', b'{"v":1,"kind":"run","entries":9999999999}\n{"kind":"end"}\n',
        b'{"v":1,"kind":"run","entries":1}\n{"type":"input","text":"\\ud800"}\n{"kind":"end"}\n',
    ):  # fmt: skip
        refused(data)
