"""A command that names one run or session costs the same however many others the store has."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stores.entries import InputEntry
from stores.file import FileStore
from stores.records import Save
from stores.sqlite import SQLiteStore
from tests.cli.lovia import Lovia, call, shell_tool

FEW, MANY = 3, 60

VERBS = [
    ["run", "agent.yaml", "go"],
    ["run", "agent.yaml", "go", "--run-id", "new"],
    ["run", "agent.yaml", "go", "--run-id", "r1"],
    ["run", "agent.yaml", "go", "--session", "new"],
    ["run", "agent.yaml", "go", "--session", "s"],
    ["run", "agent.yaml", "go", "--session", "s", "--dry-run"],
    ["run", "limited.yaml", "go"],
    ["resume", "open"],
    ["resume", "s"],
    ["resume", "r1"],
    ["cancel", "open"],
    ["runs", "finalize", "s"],
    ["replay", "r1"],
    ["history", "r1"],
    ["history", "s"],
    ["history", "gone"],
    ["show", "r1"],
    ["show", "s"],
    ["export", "r1"],
    ["export", "s"],
    ["import", "exported.jsonl", "--new-id", "new"],
    ["compare", "r1", "gone"],
    ["fork", "r1", "--from-step", "0"],
    ["fork", "gone", "--from-step", "1", "--run"],
    ["trim", "s", "--keep-runs", "0", "--keep-chars", "1", "-y"],
    ["rewind", "s", "--last-run", "-y"],
    ["rm", "r1", "-y"],
    ["rm", "open", "-y"],
    ["rm", "gone", "-y"],
]

OF_A_DATABASE = [argv for argv in VERBS if argv[0] in ("resume", "history", "rm", "rewind", "import") or "s" in argv]
"""Those that look more than one record up."""

ROWS = ("call /stores/sqlite/rows.py", "call /stores/sqlite/segments.py")
"""How rows are seen that are read: by what is called for each of them."""

Places = dict[str, dict[int, Path]]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """A folder with few and one with many other runs and sessions, for each kind of store."""
    folder = tmp_path_factory.mktemp("size")
    _begin(Lovia(folder))
    found: Places = {"file": {}, "sqlite": {}}
    for start, count in ((0, FEW), (FEW, MANY)):
        for kind, store in (("file", FileStore(folder / ".lovia")), ("sqlite", SQLiteStore(folder / "store.db"))):
            asyncio.run(_add(store, range(start, count)))
            found[kind][count] = folder.parent / f"{kind}-{folder.name}-{count}"
            shutil.copytree(folder, found[kind][count])
    return found


def _begin(lovia: Lovia) -> None:
    """The runs and the session that the verbs name: ``open`` is unfinished, of ``gone`` only the history is left."""
    lovia.agent([call("look"), {"text": "ok"}], tools="tools:\n" + shell_tool("look", "echo seen"))
    lovia.agent(
        [call("look"), {"text": "ok"}],
        name="limited.yaml",
        tools="tools:\n" + shell_tool("look", "echo seen"),
        more="limits: {max_steps: 1}",
    )
    for store in (".lovia", "sqlite:store.db"):
        for argv in (
            ["run", "agent.yaml", "go", "--run-id", "r1", "-s", "s"],
            ["run", "agent.yaml", "go", "--run-id", "r2", "-s", "s"],
            ["run", "agent.yaml", "go", "--run-id", "gone"],
            ["rm", "gone", "--keep-history", "-y"],
        ):
            assert lovia(*argv, "--store", store).code == 0
        stopped = ["run", "limited.yaml", "on", "--run-id", "open", "-s", "s"]
        assert lovia(*stopped, "--store", store).code
    lovia.write("exported.jsonl", lovia("export", "r1").out)


async def _add(store: Any, numbers: range) -> None:
    """Others: sessions with a finished run and an unfinished one, runs of no session, and kept histories."""
    said = InputEntry(text="go")
    for n in numbers:
        for kind, session, status in (
            ("done", f"other{n}", "completed"),
            ("open", f"other{n}", "interrupted"),
            ("alone", None, "failed"),
            ("kept", None, "completed"),
        ):
            async with store.checkpointer.lease(f"{kind}{n}") as lease:
                head = {"status": status, "session_id": session}
                await lease.save(Save(number=1, step=0, at=1.0, event="started", entries=[said], head=head))
        await store.session.append(f"other{n}", [said], run_id=f"done{n}")
        await store.checkpointer.settle(f"done{n}")
        await store.checkpointer.delete(f"kept{n}", keep_history=True)


def _differs(place: dict[int, Path], tmp_path: Path, argv: list[str], what: tuple[str, ...]) -> Counter[str]:
    """What the command does more often, or less often, in the larger store."""
    counted = []
    for count, origin in place.items():
        lovia = Lovia(tmp_path / str(count))
        shutil.copytree(origin, lovia.folder)
        ran, trace = lovia.traced(*argv)
        assert b"damaged" not in ran.stderr, ran
        counted.append((ran.code, [line for line in trace if line.startswith(what)]))
    (few_code, few), (many_code, many) = counted
    assert few_code == many_code
    assert few
    found = Counter(many)
    found.subtract(Counter(few))
    return Counter() if len(few) == len(many) else found


@pytest.mark.parametrize("argv", VERBS, ids=" ".join)
def test_a_verb_that_names_one_record_opens_no_more_files_in_a_larger_store(
    places: Places, tmp_path: Path, argv: list[str]
) -> None:
    assert _differs(places["file"], tmp_path, argv, ("open", "os.")) == {}


@pytest.mark.parametrize("argv", OF_A_DATABASE, ids=" ".join)
def test_a_verb_that_names_one_record_reads_no_more_rows_in_a_larger_database(
    places: Places, tmp_path: Path, argv: list[str]
) -> None:
    assert _differs(places["sqlite"], tmp_path, [*argv, "--store", "sqlite:store.db"], ROWS) == {}


@pytest.mark.parametrize("argv", [["history"], ["resume", "--last"]], ids=" ".join)
def test_what_lists_is_seen_to_open_more_files(places: Places, tmp_path: Path, argv: list[str]) -> None:
    assert _differs(places["file"], tmp_path, argv, ("open", "os.")).total() > MANY
