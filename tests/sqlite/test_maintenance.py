"""Rewind, trim and the archive in SQLite: the space that is freed, and others at work meanwhile (M1 to M3)."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import call, result, say, text
from stores.entries import Entry
from stores.references import ResultRef
from stores.sqlite import SQLiteCheckpointer, SQLiteResultStore, SQLiteSession
from stores.sqlite.database import Database
from stores.sqlite.doctor.check import check, repair
from stores.sqlite.segments import SESSIONS
from tests.sqlite.kit import change, raw

pytestmark = pytest.mark.anyio

LARGE = "rain, " * 100_000


def run_of(output: str) -> list[Entry]:
    return [say("go"), call(1), result(1, output=output), text("done")]


async def three_large(path: Path, *, wal: bool = False) -> SQLiteSession:
    """Session s with three segments, each with an output of 600 KB."""
    session = SQLiteSession(path, wal=wal)
    for n in (1, 2, 3):
        await session.append("s", run_of(LARGE), run_id=f"r{n}")
    return session


def size(path: Path) -> int:
    """Bytes on the disk, the journals among them."""
    return sum(found.stat().st_size for found in path.parent.glob(f"{path.name}*") if found.is_file())


@pytest.mark.parametrize("wal", [False, True])
async def test_m1_the_space_of_what_was_cut_is_free_again(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "store.db"
    session = await three_large(path, wal=wal)
    assert size(path) > 3 * len(LARGE)
    assert await session.trim_tool_results("s") == 2
    assert len(LARGE) < size(path) < 1.2 * len(LARGE)
    assert await session.trim_tool_results("s", keep_runs=0) == 1
    assert size(path) < 100_000


async def rewound(session: SQLiteSession) -> None:
    assert await session.rewind("s", keep_entries=0) == 12


async def cleared(session: SQLiteSession) -> None:
    await session.clear("s")


@pytest.mark.parametrize("undo", [rewound, cleared])
async def test_m3_the_space_of_what_went_is_free_again(
    tmp_path: Path, undo: Callable[[SQLiteSession], Awaitable[None]]
) -> None:
    path = tmp_path / "store.db"
    await undo(await three_large(path))
    assert size(path) < 100_000


async def test_h1_the_space_of_a_deleted_run_and_of_its_archive_is_free_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    runs, results = SQLiteCheckpointer(path), SQLiteResultStore(path)
    await write(runs, "r", saved(1, say(LARGE)))
    await results.put(ResultRef("r", 1, 1), LARGE)
    assert await runs.delete("r") is True
    assert size(path) < 1.2 * len(LARGE)
    await results.drop("r")
    assert size(path) < 100_000


@pytest.mark.parametrize("wal", [False, True])
async def test_m1_a_reader_in_the_way_keeps_the_space_and_not_the_trim(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "store.db"
    await three_large(path, wal=wal)
    session = SQLiteSession(path, wal=wal, busy_timeout=0.3)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        if wal:  # with a rollback journal no writer can commit before a reader has gone
            reader.execute("BEGIN")
            seen = reader.execute("SELECT sum(length(entries)) FROM lovia_segments").fetchone()
        assert await session.trim_tool_results("s", keep_runs=2) == 1
        if wal:
            assert reader.execute("SELECT sum(length(entries)) FROM lovia_segments").fetchone() == seen
            reader.execute("COMMIT")
    assert await session.trim_tool_results("s") == 1
    assert size(path) < 1.2 * len(LARGE)


def older_file(path: Path, *others: str) -> None:
    """A file that was made without us, and so cannot shrink page by page."""
    with raw(path) as connection:
        connection.execute("CREATE TABLE lovia_other (x)")
        for statement in others:
            connection.execute(statement)
    path.chmod(0o600)


async def test_m1_an_older_file_is_written_anew_once_and_shrinks_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    older_file(path)
    session = await three_large(path)
    for keep_runs, expected in ((2, 2), (1, 1)):
        assert await session.trim_tool_results("s", keep_runs=keep_runs) == 1
        assert expected * len(LARGE) < size(path) < (expected + 0.2) * len(LARGE)
    with raw(path) as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)


async def test_s8_a_file_with_tables_of_others_is_not_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    older_file(path, "CREATE TABLE notes (x)", "INSERT INTO notes (rowid, x) VALUES (7, 'kept')")
    session = await three_large(path)
    before = size(path)
    assert await session.trim_tool_results("s") == 2
    assert size(path) == before
    await session.append("s", run_of(LARGE), run_id="r4")
    assert size(path) == before  # what is free is used again
    with raw(path) as connection:
        assert connection.execute("SELECT rowid, x FROM notes").fetchall() == [(7, "kept")]


class Meddling(SQLiteResultStore):
    """An archive in which, while the first output is put, something else happens to the session."""

    def __init__(self, path: Path, happening: Callable[[], Awaitable[object]]) -> None:
        super().__init__(path)
        self._happening: Callable[[], Awaitable[object]] | None = happening

    async def put(self, reference: ResultRef, output: str) -> bool:
        happening, self._happening = self._happening, None
        if happening is not None:
            await happening()
        return await super().put(reference, output)


@pytest.mark.parametrize(
    ("keep_entries", "runs", "trimmed"), [(4, ["r1"], 0), (6, ["r1", "r2"], 1), (0, [], 0), (12, ["r1", "r2", "r3"], 2)]
)
async def test_m1_a_rewind_while_a_trim_archives_is_not_undone(
    tmp_path: Path, keep_entries: int, runs: list[str], trimmed: int
) -> None:
    path = tmp_path / "store.db"
    session, other = await three_large(path), SQLiteSession(path)
    archive = Meddling(path, lambda: other.rewind("s", keep_entries=keep_entries))
    assert await session.trim_tool_results("s", archive=archive) == trimmed
    assert [segment.run_id for segment in await session.segments("s")] == runs
    assert check(path) == []


async def test_m1_two_trims_at_once_cut_each_output_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    session, other = await three_large(path), SQLiteSession(path)
    archive = Meddling(path, lambda: other.trim_tool_results("s", archive=SQLiteResultStore(path)))
    assert await session.trim_tool_results("s", archive=archive) == 0
    assert await SQLiteResultStore(path).get(ResultRef("r1", 1, 1)) == LARGE


async def test_m3_undoing_the_last_run_reads_no_other(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    session = SQLiteSession(database)
    for n in range(30):
        await session.append("s", run_of("rain"), run_id=f"r{n}")
    read: list[str] = []
    with database.writing(SESSIONS) as connection:
        connection.set_trace_callback(read.append)
    assert await session.rewind("s", keep_entries=29 * 4) == 4
    selected = [statement for statement in read if statement.startswith("SELECT session_id, n, run_id")]
    assert [statement.partition(" WHERE ")[2] for statement in selected] == ["strand = 1 AND n = 30"]
    exactly(len(await session.segments("s")), 29)


async def test_d3_a_damaged_output_is_named_and_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    results = SQLiteResultStore(path)
    for step in (1, 2):
        await results.put(ResultRef("r", step, 1), "rain")
    change(path, "UPDATE lovia_results SET output = 'sun' WHERE step = 1")
    with pytest.raises(Exception, match=r"r/1\.1 is not what was written"):
        await results.get(ResultRef("r", 1, 1))
    assert [finding.repairable for finding in check(path)] == [True]
    repair(path)
    assert (check(path), await results.get(ResultRef("r", 1, 1))) == ([], None)
    assert await results.get(ResultRef("r", 2, 1)) == "rain"
    with raw(path) as connection:
        ((origin, kept),) = connection.execute("SELECT origin, row FROM lovia_quarantine")
    assert (origin, '"output":"sun"' in kept) == ("lovia_results", True)


async def test_r6_what_is_stored_is_appended_and_settled_again_without_a_write(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    database = Database(path)
    session, runs = SQLiteSession(database), SQLiteCheckpointer(database)
    await write(runs, "r", saved(1, say("go"), status="completed", session_id="s"))
    await session.append("s", [say("go")], run_id="r")
    await runs.settle("r")
    with database.reading(SESSIONS) as connection:
        assert connection is not None
        connection.execute("PRAGMA query_only = ON")
    assert await session.append("s", [say("go")], run_id="r") == "r"
    await runs.settle("r")
