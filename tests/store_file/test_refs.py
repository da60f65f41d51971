"""What a ref names becomes part of a path, and one that cannot be read is the trouble of its own run alone."""

from pathlib import Path

import pytest

from stores.errors import StoreDamagedError
from stores.file import FileStore
from tests.store_file.kit import chunk, everything, exists, later, make, only, read, rewrite, write_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


@pytest.mark.parametrize("drop", ["../../precious", "/precious", "..", "", 7, ["x"], {}])
async def test_r4_what_a_ref_drops_is_old_data_of_the_store_or_damage(path: Path, drop: object) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer)
    precious = path.parent / "precious"
    make(precious)
    rewrite(only(path, "runs/*.json"), drop=drop)
    before = everything(path / "data")
    async with store.checkpointer.lease("r") as lease:
        with pytest.raises(StoreDamagedError, match="the ref of run 'r' drops what is no old data"):
            await lease.save(later(4))
    assert exists(precious)
    assert everything(path / "data") == before


async def test_r4_a_run_never_drops_its_own_data(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer)
    ref = only(path, "runs/*.json")
    rewrite(ref, drop=read(ref)["key"])
    async with store.checkpointer.lease("r") as lease:
        with pytest.raises(StoreDamagedError):
            await lease.load()
    assert exists(chunk(path, 1))


@pytest.mark.parametrize("harm", ["truncated", "keeps nothing"])
async def test_d3_kept_histories_are_found_beside_a_ref_that_is_damaged(path: Path, harm: str) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "damaged")
    ref = only(path, "runs/*.json")
    await write_run(store, "kept")
    await store.delete("kept", keep_history=True)
    if harm == "truncated":
        ref.write_bytes(ref.read_bytes()[:40])
    else:
        rewrite(ref, status="deleted")
    assert [run.run_id for run in await store.kept_histories()] == ["kept"]
