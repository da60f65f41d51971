"""The files: readable, checked, versioned, and kept as they were where we do not know better."""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stores.codec import Lines
from stores.entries import (
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    UnknownEntryError,
)
from stores.errors import LoviaError, StoreDamagedError, StoreVersionError
from stores.file import FileStore
from stores.records import Save, fold
from tests.store_file.kit import chunk, files, first, go_on, later, only, read, reseal, rewrite, say, write_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def fill(path: Path) -> FileStore:
    """A store with two chunks of one run, and another run, of a session with two segments."""
    store = FileStore(path)
    await write_run(store.checkpointer, "long", 5, text="x" * 15_000, status="completed")
    await write_run(store.checkpointer, "short", 2, session="talk")
    await store.session.append("talk", [say("hello")], run_id="one", meta={"k": 1})
    await store.session.append("talk", [say("again")], run_id="two")
    return store


async def read_all(path: Path) -> None:
    """Read everything there is; the listings say what is damaged, all else raises it."""
    store = FileStore(path, create=False)
    for run_id in ("long", "short"):
        assert await store.checkpointer.load(run_id)
        await store.checkpointer.history(run_id)
    assert len(await store.session.segments("talk")) == 2


async def test_every_file_is_one_json_object_that_ends_with_its_checksum(path: Path) -> None:
    await fill(path)
    documents = files(path, "**/*.json")
    assert {read(file)["kind"] for file in documents} == {"store", "run", "chunk", "session", "segment", "open"}
    for file in documents:
        data = file.read_bytes()
        body, mark, rest = data.rpartition(b',"sum":"')
        assert data.startswith(b'{"v":1,"kind":')
        assert (mark, rest[64:]) == (b',"sum":"', b'"}\n')
        assert rest[:64].decode() == hashlib.sha256(body).hexdigest()


async def test_records_stand_one_a_line_with_their_exact_id(path: Path) -> None:
    await fill(path)
    lines = only(path, "data/*/000002.json").read_text().splitlines()
    assert [line.startswith('{"save":') for line in lines] == [False, True, True, False]
    assert '"id":"long"' in lines[0]
    assert read(only(path, "runs/long.*.json"))["id"] == "long"


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[Path, bytes], object]] = {
    "empty": lambda file, data: file.write_bytes(b""),
    "cut short": lambda file, data: file.write_bytes(data[: len(data) // 2]),
    "last byte gone": lambda file, data: file.write_bytes(data[:-1]),
    "one bit": lambda file, data: file.write_bytes(flipped(data, 40)),
    "nul bytes": lambda file, data: file.write_bytes(bytes(len(data))),
    "junk behind": lambda file, data: file.write_bytes(data + b"\x00{]"),
    "twice": lambda file, data: file.write_bytes(data * 2),
    "a list": lambda file, data: file.write_bytes(b"[]"),
    "another object": lambda file, data: file.write_bytes(b'{"v":1}'),
    "deep": lambda file, data: file.write_bytes(b"[" * 100_000 + b"]" * 100_000),
    "a huge number": lambda file, data: file.write_bytes(b"1" * 5_000),
    "a huge version": lambda file, data: file.write_bytes(b'{"v":' + b"1" * 5_000 + b"}"),
    "byte order mark": lambda file, data: file.write_bytes(b"\xef\xbb\xbf" + data),
    "not UTF-8": lambda file, data: file.write_bytes(data[:60] + b"\xff" + data[61:]),
    "a folder": lambda file, data: (file.unlink(), file.mkdir()),
    "a pipe": lambda file, data: (file.unlink(), os.mkfifo(file)),
    "a link to itself": lambda file, data: (file.rename(f"{file}.moved"), file.symlink_to(f"{file}.moved")),
    "a link to nothing": lambda file, data: (file.unlink(), file.symlink_to("/nonexistent/file")),
}
PLACES = [
    "data/*/000001.json",
    "data/*/000002.json",
    "runs/long.*.json",
    "sessions/*/session.json",
    "sessions/*/000001.*",
]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("place", PLACES)
async def test_d3_a_damaged_file_is_an_error_that_names_it_and_the_repair(path: Path, place: str, damage: str) -> None:
    await fill(path)
    file = files(path, place)[0]
    DAMAGES[damage](file, file.read_bytes())
    with pytest.raises(StoreDamagedError) as caught:
        await read_all(path)
    assert file.name in (caught.value.where or "")
    assert "lovia doctor" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "place", ["data/*/000002.json", "sessions/*/session.json", "sessions/*/000001.*", "sessions/*/000002.*"]
)
async def test_d3_a_missing_file_that_another_names_is_damage(path: Path, place: str) -> None:
    await fill(path)
    file = only(path, place)
    file.unlink()
    with pytest.raises(StoreDamagedError) as caught:
        await read_all(path)
    assert file.name in (caught.value.where or "")


async def test_d3_a_chunk_replaced_by_an_older_copy_of_itself_is_noticed_once_the_run_has_ended(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, first(), later(2))
        older = chunk(path, 1).read_bytes()
        await go_on(lease, later(3, status="completed"))
    chunk(path, 1).write_bytes(older)
    with pytest.raises(StoreDamagedError, match="not the newest data"):
        await store.checkpointer.load("r")


async def test_d3_a_file_under_another_ones_name_is_damage(path: Path) -> None:
    store = await fill(path)
    only(path, "runs/short.*.json").write_bytes(only(path, "runs/long.*.json").read_bytes())
    with pytest.raises(StoreDamagedError, match="another run than its name says"):
        await store.checkpointer.load("short")


async def test_d3_the_damage_of_one_run_touches_no_other(path: Path) -> None:
    store = await fill(path)
    only(path, "data/*/000002.json").write_bytes(b"")
    only(path, "runs/short.*.json").write_bytes(b"{}")
    await write_run(store.checkpointer, "third")
    infos = {info.run_id.split(".")[0]: info for info in await store.checkpointer.runs()}
    assert sorted(infos) == ["long", "short", "third"]
    assert "runs/short." in str(infos["short"].damage)
    assert (infos["long"].status, infos["long"].damage) == ("completed", None)  # all that a listing needs is exact
    assert await store.checkpointer.load("third")


async def test_d1_a_newer_format_is_refused_before_anything_else_is_believed(path: Path) -> None:
    await fill(path)
    for place in (*PLACES, "store.json"):
        file = files(path, place)[0]
        data = file.read_bytes()
        file.write_bytes(data.replace(b'{"v":1,', b'{"v":2,', 1))
        with pytest.raises(StoreVersionError) as caught:
            await read_all(path)
        assert file.name in (caught.value.where or "")
        assert "upgrade lovia" in (caught.value.hint or "")
        file.write_bytes(data)
    await read_all(path)


async def test_d1_unknown_fields_of_a_run_are_kept_when_it_goes_on(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 2)
    file = chunk(path, 1)
    records = read(file)["records"]
    records[1] |= {"mood": "good"}
    records[1]["entries"][0] |= {"colour": "red"}
    records[1]["head"] = {"weather": "fine"}
    rewrite(file, records=records, later=[1])
    rewrite(only(path, "runs/*.json"), badge="x")
    async with store.checkpointer.lease("r") as lease:
        snapshot = await lease.load()
        assert snapshot is not None
        assert snapshot.entries[1].extra == {"colour": "red"}
        assert snapshot.head.extra == {"weather": "fine"}
        await lease.save(later(3, status="completed"))
    assert read(file)["later"] == [1]
    assert read(file)["records"][:2] == records
    assert read(only(path, "runs/*.json"))["badge"] == "x"


async def test_d1_a_run_loads_whoever_set_out_its_chunks_and_whatever_stands_in_them(path: Path) -> None:
    store = FileStore(path)
    texts = ["a\tb", '"entries":[{"type":"input","text":"no"}]', '\t"entries":[', '}],\n{"save":9', "x" * 2_000]
    saves = [first(), *(later(number, texts[number % 5]) for number in range(2, 40))]
    saves[20].head["state"] = {"entries": [{"type": "input", "text": "no"}], "keep": 1, "tab\t": "\t"}
    saves[25].entries = []
    saves[30].keep = 12
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, *saves)
    expected = fold("r", saves)
    assert expected is not None
    expected.head.status = "interrupted"
    assert await store.checkpointer.load("r") == expected
    before = None
    for number in range(1, len(files(path, "data/*/*.json")) + 1):
        rewrite(chunk(path, number), prev=before)
        before = read(chunk(path, number))["sum"]
    assert number == 3
    assert await store.checkpointer.load("r") == expected


async def test_a_save_that_takes_entries_back_does_so_wherever_it_stands(path: Path) -> None:
    store = FileStore(path)
    saves = [first(), *(later(number, "x" * 2_000) for number in range(2, 40))]
    saves[20].keep = 9
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, *saves)
    cut = next(file for file in files(path, "data/*/*.json") if b'"keep":9' in file.read_bytes())
    assert cut == chunk(path, 2)
    assert len(files(path, "data/*/*.json")) == 4
    loaded, expected = await store.checkpointer.load("r"), fold("r", saves)
    assert loaded is not None
    assert expected is not None
    assert loaded.entries == expected.entries


@pytest.mark.parametrize("number", [2, 3, 4])
async def test_d3_a_chunk_that_does_not_follow_the_one_before_is_damage(path: Path, number: int) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 40, text="x" * 2_000)
    assert chunk(path, 4) == files(path, "data/*/*.json")[-1]
    prev = read(chunk(path, number))["prev"].encode()
    reseal(chunk(path, number), prev, b"0" * len(prev))
    with pytest.raises(StoreDamagedError, match="does not follow") as caught:
        await store.checkpointer.load("r")
    assert caught.value.where == str(chunk(path, number))


@pytest.mark.parametrize("number", [1, 2, 4])
async def test_d3_one_bit_of_one_answer_is_damage(path: Path, number: int) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 40, text="x" * 2_000)
    data = chunk(path, number).read_bytes()
    chunk(path, number).write_bytes(flipped(data, data.index(b"xxxx") + 1_000))
    with pytest.raises(StoreDamagedError, match="does not match its checksum") as caught:
        await store.checkpointer.load("r")
    assert caught.value.where == str(chunk(path, number))


async def test_a_save_takes_entries_back_in_call_order(path: Path) -> None:
    store = FileStore(path)
    calls = [ToolCallEntry(id=f"c{n}", name="look", step=2, position=n) for n in (1, 2)]
    results = [ToolResultEntry(call_id=f"c{n}", output="x", step=2, position=n) for n in (2, 1)]
    saves = [first(), later(2), *(later(number, "x" * 2_000) for number in range(3, 40))]
    saves[1].entries = [*calls, *results]
    saves[2].keep = 1 + len(calls) + 1
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, *saves)
    assert len(files(path, "data/*/*.json")) == 4
    loaded = await store.checkpointer.load("r")
    assert loaded is not None
    assert loaded.entries[1:4] == [*calls, results[1]]


async def test_d1_what_another_writer_nests_deep_is_read(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 40, text="x" * 2_000)
    records = read(chunk(path, 1))["records"]
    records[1]["entries"][0]["provider"] = {"deep": 777}
    rewrite(chunk(path, 1), records=records)
    depth = 1_000
    reseal(chunk(path, 1), b'"deep": 777', b'"deep": ' + b"[" * depth + b"]" * depth)
    for number in (2, 3, 4):
        rewrite(chunk(path, number), prev=chunk(path, number - 1).read_bytes()[-67:-3].decode())
    snapshot = await store.checkpointer.load("r")
    assert snapshot is not None
    found = snapshot.entries[1].provider["deep"]
    for _ in range(depth - 1):
        [found] = found
    assert found == []


async def test_a_forks_saves_are_set_out_like_all_others(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 8)
    (source,) = files(path, "data/*/*.json")
    async with store.checkpointer.lease("f") as lease:
        await lease.fork("r", Save(number=6, step=5, at=9.0, event="forked", head={"status": "interrupted"}))
    (fork,) = set(files(path, "data/*/*.json")) - {source}
    lines = source.read_bytes().split(b"\n")[1:6]
    assert [b'"entries":[' in line for line in lines] == [True] * 5
    assert fork.read_bytes().split(b"\n")[1:6] == lines


async def test_d3_a_chunk_without_a_save_is_damage(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 3)
    file = chunk(path, 1)
    header = {name: value for name, value in read(file).items() if name not in ("v", "sum", "records")}
    file.write_bytes(Lines(header, "records").bytes())
    for look in (store.checkpointer.load("r"), store.checkpointer.moment("r", step=1)):
        with pytest.raises(StoreDamagedError, match=r"holds no save|not the newest data"):
            await look


async def test_d1_an_unknown_entry_type_names_run_and_file_and_hurts_no_other_run(path: Path) -> None:
    store = await fill(path)
    file = only(path, f"data/{read(only(path, 'runs/short.*.json'))['key']}/000001.json")
    records = read(file)["records"]
    records[0]["entries"].append({"type": "hologram"})
    rewrite(file, records=records)
    with pytest.raises(UnknownEntryError) as caught:
        await store.checkpointer.load("short")
    assert "run 'short' has an unknown entry type 'hologram'" in str(caught.value)
    assert caught.value.where == str(file)
    assert (await store.checkpointer.load("long")) is not None
    assert [info.damage for info in await store.checkpointer.runs()] == [None, None]


ROWS_AND_ENTRIES = [
    ({"type": "input", "text": "go"}, InputEntry(text="go")),
    ({"type": "input", "text": "go", "role": "system", "parts": None}, InputEntry(text="go", role="system")),
    ({"type": "assistant_text", "text": "a", "step": 2}, AssistantTextEntry(text="a", step=2)),
    ({"type": "assistant_text", "text": "a", "mood": 1}, AssistantTextEntry(text="a", extra={"mood": 1})),
    ({"type": "assistant_text", "text": "a"}, AssistantTextEntry(text="a")),
    (
        {"type": "assistant_text", "text": "a", "extra": {"b": 1}},
        AssistantTextEntry(text="a", extra={"extra": {"b": 1}}),
    ),
    ({"type": "reasoning", "text": "r", "provider": {"b": 1}}, ReasoningEntry(text="r", provider={"b": 1})),
    (
        {"type": "tool_call", "id": "c", "name": "n", "arguments": "{1", "step": 2, "position": 3},
        ToolCallEntry(id="c", name="n", arguments="{1", step=2, position=3),
    ),
    (
        {
            "type": "tool_call",
            "id": "c",
            "name": "n",
            "arguments": "{1",
            "step": 2,
            "position": 3,
            "provider": {"b": 1},
        },
        ToolCallEntry(id="c", name="n", arguments="{1", step=2, position=3, provider={"b": 1}),
    ),
    ({"type": "tool_call", "id": "c", "name": "n", "extra": 5}, ToolCallEntry(id="c", name="n", extra={"extra": 5})),
    (
        {"type": "tool_result", "call_id": "c", "output": "o", "step": 2, "position": 3},
        ToolResultEntry(call_id="c", output="o", step=2, position=3),
    ),
    (
        {"type": "tool_result", "call_id": "c", "output": "o", "is_error": True, "kind": "cancelled"},
        ToolResultEntry(call_id="c", output="o", is_error=True, kind="cancelled"),
    ),
    (
        {
            "type": "tool_result",
            "call_id": "c",
            "output": "o",
            "step": 2,
            "position": 3,
            "trimmed": {"chars": 9},
            "z": 0,
        },
        ToolResultEntry(call_id="c", output="o", step=2, position=3, trimmed={"chars": 9}, extra={"z": 0}),
    ),
]


@pytest.mark.parametrize(("row", "entry"), ROWS_AND_ENTRIES, ids=str)
async def test_d1_an_entry_is_read_with_whatever_fields_it_has(path: Path, row: dict[str, Any], entry: Entry) -> None:
    store = FileStore(path)
    saves = [first(), *(later(number, "x" * 2_000) for number in range(2, 40))]
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, *saves)
    before = None
    for number in (1, 2, 3, 4):
        records = read(chunk(path, number))["records"]
        records[3]["entries"] = [row]
        saves[records[3]["save"] - 1].entries = [entry]
        rewrite(chunk(path, number), records=records, prev=before)
        before = read(chunk(path, number))["sum"]
    snapshot, expected = await store.checkpointer.load("r"), fold("r", saves)
    assert snapshot is not None
    assert expected is not None
    assert snapshot.entries == expected.entries


async def test_d1_an_unknown_type_in_a_chunk_that_others_follow_names_that_chunk(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 40, text="x" * 2_000)
    records = read(chunk(path, 2))["records"]
    records[3]["entries"] = [{"type": "hologram"}]
    rewrite(chunk(path, 2), records=records)
    for number in (3, 4):
        rewrite(chunk(path, number), prev=read(chunk(path, number - 1))["sum"])
    with pytest.raises(UnknownEntryError, match="run 'r' has an unknown entry type 'hologram'") as caught:
        await store.checkpointer.load("r")
    assert caught.value.where == str(chunk(path, 2))


@pytest.mark.parametrize(
    "row",
    [
        {"type": "assistant_text", "step": 1, "mood": 1},
        {"type": "tool_call", "id": "c", "arguments": "{}", "step": 1, "position": 1, "mood": 1},
        {"type": "tool_result", "call_id": "c", "step": 1, "position": 1, "kind": "ok"},
    ],
    ids=lambda row: row["type"],
)
async def test_d1_an_entry_without_what_it_must_have_names_run_and_file(path: Path, row: dict[str, Any]) -> None:
    store = await fill(path)
    file = only(path, f"data/{read(only(path, 'runs/short.*.json'))['key']}/000001.json")
    records = read(file)["records"]
    records[0]["entries"].append(row)
    rewrite(file, records=records)
    lacking = {"assistant_text": "text", "tool_call": "name", "tool_result": "output"}[row["type"]]
    message = f"run 'short' has an entry that cannot be read: a {row['type']} entry lacks a field: '{lacking}'"
    with pytest.raises(StoreDamagedError, match=re.escape(message)) as caught:
        await store.checkpointer.load("short")
    assert caught.value.where == str(file)


async def test_d4_what_has_no_stored_form_is_refused_and_nothing_is_written(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first())
        before = chunk(path, 1).read_bytes()
        with pytest.raises(LoviaError):
            await lease.save(later(2, output={1, 2}))
        assert chunk(path, 1).read_bytes() == before
        await lease.save(later(2))


async def test_a_large_field_is_not_in_the_ref_but_in_the_listing(path: Path) -> None:
    store = FileStore(path)
    config = {"variables": {"text": "v" * 20_000}}
    error = {"code": "x", "message": "m" * 20_000}
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, first(config=config), later(2, state={"s": "t" * 20_000}, error=error, status="failed"))
    assert only(path, "runs/*.json").stat().st_size < 2_000
    info = await store.checkpointer.info("r")
    assert info is not None
    assert info.config == config
    assert (info.error or {})["message"] == "m" * 500 + "…"
    snapshot = await store.checkpointer.load("r")
    assert snapshot is not None
    assert snapshot.head.error == error


async def test_a_save_keeps_its_own_unknown_fields(path: Path) -> None:
    store = FileStore(path)
    save = Save(number=1, step=0, at=1.0, event="started", head={"status": "failed"}, extra={"source": "import"})
    async with store.checkpointer.lease("r") as lease:
        await lease.save(save)
    assert read(chunk(path, 1))["records"][0]["source"] == "import"
