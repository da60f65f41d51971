"""A damaged archived output is made again from a copy, or its loss is told: both doctors (M2, D3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import stores.file.doctor.check as file_doctor
import stores.sqlite.doctor.check as sqlite_doctor
from stores.conformance.checks import saved, write
from stores.conformance.samples import call, result, say, text
from stores.file import FileCheckpointer, FileResultStore, FileSession
from stores.findings import Finding
from stores.references import ResultRef
from stores.sqlite import SQLiteCheckpointer, SQLiteResultStore, SQLiteSession
from tests.sqlite.kit import change
from tests.store_file.kit import only

pytestmark = pytest.mark.anyio

PLACE = ResultRef("r", 1, 1)
WHOLE = "0123456789" * 200


class Kept(NamedTuple):
    """One store with all that belongs to it, and its doctor."""

    path: Path
    runs: Any
    session: Any
    archive: Any
    doctor: Any

    def damage(self) -> None:
        """Leave the beginning of the archived output."""
        if self.doctor is file_doctor:
            file = only(self.path, "results/r.*/1-1.json")
            file.write_bytes(file.read_bytes()[:90])
        else:
            change(self.path, "UPDATE lovia_results SET output = substr(output, 1, 90)")

    def hide_run(self) -> None:
        """As if a newer lovia had written the checkpoint."""
        if self.doctor is file_doctor:
            file = only(self.path, "data/*/000001.json")
            file.write_bytes(file.read_bytes().replace(b'{"v":1', b'{"v":2'))
        else:
            change(self.path, "UPDATE lovia_schema SET version = 99 WHERE part = 'runs'")

    def check(self) -> list[Finding]:
        found: list[Finding] = self.doctor.check(self.path)
        return found

    def repair(self) -> list[Finding]:
        found: list[Finding] = self.doctor.repair(self.path)
        return found


@pytest.fixture(params=["file", "sqlite"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    if request.param == "file":
        path = tmp_path / ".lovia"
        return Kept(path, FileCheckpointer(path), FileSession(path), FileResultStore(path), file_doctor)
    path = tmp_path / "store.db"
    return Kept(path, SQLiteCheckpointer(path), SQLiteSession(path), SQLiteResultStore(path), sqlite_doctor)


async def run(kept: Kept, output: str = WHOLE, session_id: str | None = "talk") -> None:
    """Run ``r``, completed, one call of which gave that output."""
    entries = [say("go"), call(1), result(1, output=output), text("done", step=2)]
    await write(kept.runs, "r", saved(1, *entries, session_id=session_id), saved(2, status="completed", event="end"))


async def talk(kept: Kept) -> None:
    """A session with the segment of that run, and its output in the archive."""
    await run(kept)
    await kept.session.append("talk", (await kept.runs.load("r")).entries, run_id="r")
    await kept.runs.settle("r")


async def trim(kept: Kept) -> None:
    assert await kept.session.trim_tool_results("talk", keep_chars=60, keep_runs=0, archive=kept.archive) == 1


@pytest.mark.parametrize("keep_history", [None, True])
async def test_m2_a_damaged_output_is_made_again_from_the_checkpoint(kept: Kept, keep_history: bool | None) -> None:
    await talk(kept)
    await trim(kept)
    if keep_history:
        await kept.runs.delete("r", keep_history=True)
    kept.damage()
    (found,) = kept.check()
    assert found.what.endswith("; it can be made again from the checkpoint of run 'r'")
    (done,) = kept.repair()
    assert "; it was made again from the checkpoint of run 'r'; what was there was moved " in done.what
    assert (done.repairable, done.is_lost, await kept.archive.get(PLACE)) == (True, False, WHOLE)
    assert kept.check() == []


@pytest.mark.parametrize("other", [None, WHOLE[:-1] + "x", WHOLE + "x"])
async def test_m2_a_lost_output_is_told_with_what_its_marker_promises(kept: Kept, other: str | None) -> None:
    await talk(kept)
    await trim(kept)
    await kept.runs.delete("r")
    if other:
        await run(kept, other, session_id=None)  # the id stands for another run by now
    kept.damage()
    loss = "it is lost: nothing else holds it, and what its marker in session 'talk' promises is void"
    (found,) = kept.check()
    assert f"; {loss}" in found.what
    (done,) = kept.repair()
    assert f"; {loss}; " in done.what
    assert (done.repairable, done.is_lost, await kept.archive.get(PLACE)) == (True, True, None)
    assert kept.check() == []


async def test_m2_a_damaged_output_is_made_again_from_what_a_fork_still_shows(kept: Kept) -> None:
    await talk(kept)
    await kept.session.fork_session("talk", "fork", upto="r")
    await kept.session.confirm_fork("fork")
    await trim(kept)
    await kept.runs.delete("r")
    kept.damage()
    (done,) = kept.repair()
    assert "; it was made again from session 'talk'; " in done.what
    assert await kept.archive.get(PLACE) == WHOLE


async def test_d3_a_damaged_output_stays_where_its_copy_may_be_in_what_a_newer_lovia_wrote(kept: Kept) -> None:
    await talk(kept)
    await trim(kept)
    kept.damage()
    kept.hide_run()
    for found in (kept.check(), kept.repair(), kept.check()):
        (of_output,) = (one for one in found if "a copy" in one.what)
        assert "; whether there is a copy cannot be told: " in of_output.what
        assert not of_output.repairable
