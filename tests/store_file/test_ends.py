"""A file of which nothing but the end is damaged is put right, for the rest of it says how it ended (D3)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stores.entries import AssistantTextEntry
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from stores.references import ResultRef
from tests.store_file.kit import files, say, write_run

pytestmark = pytest.mark.anyio

ENDS = {
    "no newline": lambda data: data[:-1],
    "cut within the checksum": lambda data: data[:-34],
    "junk": lambda data: data + b"\0junk\n",
    "twice": lambda data: data * 2,
    "a digit changed": lambda data: data[:-20] + (b"0" if data[-20:-19] != b"0" else b"1") + data[-19:],
}


async def filled(path: Path) -> None:
    """Every kind of record: runs of all sorts, with and without a session that holds them, and an archived output."""
    store = FileStore(path)
    await write_run(store.checkpointer, "unfinished", session="s")
    await write_run(store.checkpointer, "done", status="completed")
    await write_run(store.checkpointer, "gone")
    await store.checkpointer.delete("gone", keep_history=True)
    for run_id in ("a", "b"):
        await store.session.append("s", [say("go"), AssistantTextEntry(text="yes", step=1)], run_id=run_id)
    await store.results.put(ResultRef("a", 1, 1), "rain")


@pytest.mark.parametrize("change", ENDS.values(), ids=ENDS)
async def test_d3_of_a_damaged_end_nothing_is_lost(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = tmp_path / ".lovia"
    await filled(path)
    whole = {file: file.read_bytes() for file in files(path, "*/**/*.json") if "owners" not in file.parts}
    kinds = {file.parent.name if file.parent.name in ("open", "runs") else file.parts[-3] for file in whole}
    assert kinds == {"runs", "data", "sessions", "open", "results"}
    for file, data in whole.items():
        file.write_bytes(change(data))
        assert file.name in [Path(finding.file).name for finding in check(path)]
        repair(path)
        assert {file: file.read_bytes() for file in whole} == whole
        assert check(path) == []
