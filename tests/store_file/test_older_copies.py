"""An older copy of a segment that was put back: what a rewind had cut off does not come back with it (M3, D3)."""

from pathlib import Path

import pytest

from stores.entries import Entry
from stores.errors import StoreDamagedError
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from tests.store_file.kit import files, only, rewrite, say
from tests.store_file.test_restoring import runs, talk

pytestmark = pytest.mark.anyio

YES = (True, True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def rewind(store: FileStore, keep_entries: int, *run_ids: str) -> None:
    """As the command does, which deletes the checkpoints of what it is going to cut."""
    for run_id in run_ids:
        await store.checkpointer.delete(run_id)
    await store.session.rewind("talk", keep_entries=keep_entries)


async def cut_talk(path: Path, *more: str) -> tuple[FileStore, Path, bytes]:
    """Sessions of r1 and r2, of which r2 is cut to its first entry; the file that it was, with what was in it.

    Behind it there was another run, so that a segment of the epoch before counts there; and there are ``more``.
    """
    store = await talk(path, "r1", "r2")
    whole = only(path, "sessions/talk.*/000002.0-*")
    content = whole.read_bytes()
    await rewind(store, 4, "r2")
    await talk(path, "undone")
    await rewind(store, 4, "undone")
    await talk(path, *more)
    return store, whole, content


@pytest.mark.parametrize("more", [[], ["r3"], ["r3", "r4"]])
async def test_m3_an_older_copy_in_the_place_of_a_segment_that_was_cut_is_cut_again(
    path: Path, more: list[str]
) -> None:
    store, copy, content = await cut_talk(path, *more)
    before = await store.session.load("talk")
    file = only(path, "sessions/talk.*/000002.1-*")
    file.unlink()
    copy.write_bytes(content)
    refused = "the segment ends at 6, and the one behind it begins at 4" if more else "this is not the segment that was"
    with pytest.raises(StoreDamagedError, match=refused) as error:
        await store.session.load("talk")
    assert error.value.where == str(copy)
    made = f"made again from {copy.name}, an older copy, cut to 1 entry as by a rewind"
    (finding,) = check(path)
    assert (finding.file, finding.what) == (str(file), f"segment 2 is missing; it can be {made}")
    aside = f"quarantine/sessions__{copy.parent.name}__{copy.name}"
    undone = "a segment that was undone, and that no fork reads"
    assert [(one.file, one.what) for one in repair(path)] == [
        (str(file), f"segment 2 is missing; {made}"),
        (str(copy), f"{undone}; moved to {aside}"),
    ]
    assert (check(path), await store.session.load("talk")) == ([], before)
    cut = (await store.session.segments("talk"))[1]
    assert (cut.run_id, cut.truncated, cut.meta, (path / aside).read_bytes()) == ("r2", True, {}, content)
    await talk(path, "last")
    assert (check(path), await runs(store, "talk")) == ([], ["r1", "r2", *more, "last"])


async def test_m3_an_older_copy_beside_nothing_is_cut_again_as_session_json_tells(path: Path) -> None:
    store = await talk(path, "r1", "r2")
    copy = only(path, "sessions/talk.*/000002.0-*")
    content = copy.read_bytes()
    await rewind(store, 4, "r2")
    before = await store.session.load("talk")
    only(path, "sessions/talk.*/000002.1-*").unlink()
    copy.write_bytes(content)
    repair(path)
    assert (check(path), await store.session.load("talk")) == ([], before)


async def test_m3_an_older_copy_that_no_rewind_can_have_cut_goes_aside(path: Path) -> None:
    store, copy, content = await cut_talk(path, "r3")
    before = await store.session.load("talk")
    only(path, "sessions/talk.*/000002.1-*").unlink()
    copy.write_bytes(content)
    rewrite(copy, entries=[])
    found = repair(path)
    what = "the segment ends at 3, and the one behind it begins at 4; no checkpoint holds the same, so the session "
    what += "goes on without it; what was there was moved to quarantine/"
    assert (found[0].file, found[0].what[: len(what)]) == (str(copy), what)
    assert (check(path), await store.session.load("talk")) == ([], [*before[:3], *before[4:]])


@pytest.mark.parametrize("has_checkpoint", [True, False])
async def test_d3_a_segment_of_a_removed_conversation_in_the_place_of_one_of_the_same_run_id(
    path: Path, has_checkpoint: bool
) -> None:
    store = FileStore(path)
    await store.session.append("talk", [say("old")], run_id="r1")
    file = only(path, "sessions/talk.*/000001.0-*")
    old = file.read_bytes()
    await store.session.clear("talk")
    await talk(path, "r1", "r2")
    before: list[Entry] = await store.session.load("talk")
    if not has_checkpoint:
        await store.checkpointer.delete("r1")
    file.write_bytes(old)
    (done,) = repair(path)
    end = "made again from the checkpoint of run 'r1'" if has_checkpoint else "goes on without it"
    assert (done.file, end in done.what, "; what was there was moved to quarantine/" in done.what) == (str(file), *YES)
    assert (check(path), await store.session.load("talk")) == ([], before if has_checkpoint else before[3:])


@pytest.mark.parametrize("can_be_cut", [True, False])
async def test_m3_a_fork_reads_what_it_read_of_a_segment_that_is_cut_again(path: Path, can_be_cut: bool) -> None:
    store, copy, content = await cut_talk(path, "r3")
    await store.session.fork_session("talk", "afork", upto="r3")
    await store.session.confirm_fork("afork")
    await store.session.append("afork", [say("own")], run_id="f1")
    before = await store.session.load("afork")
    await rewind(store, 3, "r3")
    only(path, "sessions/talk.*/000002.1-*").unlink()
    copy.write_bytes(content)
    if not can_be_cut:
        rewrite(copy, entries=[])
    repair(path)
    left = before if can_be_cut else [*before[:3], *before[4:]]
    assert (check(path), await store.session.load("afork")) == ([], left)
    assert await runs(store, "talk") == ["r1"]
    assert not files(path, "sessions/talk.*/000002.0-*")


@pytest.mark.parametrize(("n", "count"), [(1, 1), (1, 2), (2, 1), (2, 2)])
async def test_m4_a_segment_of_a_removed_conversation_that_was_rewound_undoes_no_completed_run(
    path: Path, n: int, count: int
) -> None:
    """It is of an epoch that the session does not know, so that session.json looks older."""
    store = await talk(path, "r1", "undone")
    await rewind(store, 3 * (n - 1), "undone", *(["r1"] if n == 1 else []))
    await talk(path, "r2")
    stray = only(path, f"sessions/talk.*/00000{n}.1-*")
    content = stray.read_bytes()
    await store.session.clear("talk")
    for run_id in ("r1", "r2"):
        await store.checkpointer.delete(run_id, keep_history=True)
    await talk(path, "r7", *(["r8"] if count == 2 else []))
    before = await store.session.load("talk")
    stray.write_bytes(content)
    with pytest.raises(StoreDamagedError, match="an older copy of the file"):
        await store.session.load("talk")
    what = "a segment that does not count: session.json ends with a completed run, which is not undone"
    (finding,) = check(path)
    assert (finding.file, finding.what) == (str(stray), f"{what}; it can be moved aside")
    aside = f"moved to quarantine/sessions__{stray.parent.name}__{stray.name}"
    assert [done.what for done in repair(path)] == [f"{what}; {aside}"]
    assert (check(path), await store.session.load("talk")) == ([], before)


async def test_m3_session_json_from_before_a_rewind_that_kept_what_it_counts_is_older(path: Path) -> None:
    store = await talk(path, "r1")
    file = only(path, "sessions/talk.*/session.json")
    older = file.read_bytes()
    await talk(path, "undone")
    await rewind(store, 3, "undone")
    await talk(path, "r2")
    before = await store.session.load("talk")
    await store.checkpointer.delete("r2")
    file.write_bytes(older)
    repair(path)
    assert (check(path), await store.session.load("talk")) == ([], before)
