"""The store that an example shows keeps the contract of every store, and is as short as it says."""

import ast
import sys
from functools import partial
from pathlib import Path

import pytest

import stores.conformance
from lovia_cli import Agent, Runner, ScriptedModel
from stores.conformance import (
    CheckpointerContract,
    HistoryContract,
    KeptHistoriesContract,
    LeaseContract,
    ResultStoreContract,
    RewindContract,
    RunIndexContract,
    SessionContract,
    SessionIndexContract,
    SharedCheckpointerContract,
    SharedSessionContract,
    TrimContract,
    contracts_for,
)
from stores.file import FileCheckpointer, FileResultStore, FileSession
from stores.memory import InMemoryCheckpointer, InMemoryResultStore, InMemorySession
from tests.architecture import ROOT

sys.path.insert(0, str(ROOT / "examples"))
from notebook_store import NotebookSession


@pytest.mark.anyio
class TestNotebookSession(*contracts_for(NotebookSession, shared=True)):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "notebook.jsonl"

    async def open(self) -> NotebookSession:
        return NotebookSession(self.path)

    def recipe(self) -> partial[NotebookSession]:
        return partial(NotebookSession, self.path)


def test_it_has_about_forty_lines_of_code() -> None:
    source = (ROOT / "examples" / "notebook_store.py").read_text(encoding="utf-8")
    code = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    lines = [line for node in code for line in source.splitlines()[node.lineno - 1 : node.end_lineno] if line.strip()]
    assert len(lines) <= 45


@pytest.mark.anyio
async def test_a_line_that_a_crash_cut_short_was_never_stored(tmp_path: Path) -> None:
    path = tmp_path / "notebook.jsonl"
    await NotebookSession(path).append("u1", [], run_id="r1")
    path.write_bytes(path.read_bytes() + b'{"session":"u1","ru')
    await NotebookSession(path).append("u1", [], run_id="r2")
    assert [segment.run_id for segment in await NotebookSession(path).segments("u1")] == ["r1", "r2"]


@pytest.mark.anyio
async def test_the_runner_takes_it(tmp_path: Path) -> None:
    session = NotebookSession(tmp_path / "notebook.jsonl")
    agent = Agent(name="greeter", model=ScriptedModel(["Hello!"]))
    await Runner.run(agent, "Hi", session=session, session_id="u1")
    result = await Runner.run(agent, "Hi again", session=session, session_id="u1")
    assert [entry.text for entry in result.messages] == ["Hi", "Hello!", "Hi again", "Hello!"]


def test_a_store_is_held_to_what_it_can_do() -> None:
    assert contracts_for(NotebookSession) == (SessionContract,)
    assert contracts_for(NotebookSession, shared=True) == (SessionContract, SharedSessionContract)
    assert contracts_for(FileResultStore) == (ResultStoreContract,)
    assert {SessionContract, SessionIndexContract, RewindContract, TrimContract} <= set(contracts_for(FileSession))
    runs = {CheckpointerContract, LeaseContract, RunIndexContract, HistoryContract, KeptHistoriesContract}
    assert runs <= set(contracts_for(FileCheckpointer))
    assert set(contracts_for(FileCheckpointer, shared=True)) - set(contracts_for(FileCheckpointer)) == {
        SharedCheckpointerContract
    }


def test_every_contract_is_picked_for_a_store_that_has_it_all() -> None:
    class Everything(InMemorySession, InMemoryCheckpointer, InMemoryResultStore):
        """All that the memory stores can do."""

    every = {getattr(stores.conformance, name) for name in stores.conformance.__all__ if name.endswith("Contract")}
    assert every == set(contracts_for(Everything, shared=True))
