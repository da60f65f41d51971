"""The automatic tool that gives cut outputs back (M2), and what is left of runs that were rewound (M3, R4)."""

from __future__ import annotations

from typing import Any

import pytest

from lovia_cli.agent import Agent
from lovia_cli.engine.runner import Runner
from lovia_cli.errors import ConflictError
from stores.entries import Entry, ToolResultEntry
from stores.errors import StoreDamagedError
from stores.memory import InMemoryCheckpointer, InMemoryResultStore, InMemorySession
from stores.references import ResultRef
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls, transcript

WHOLE = "rain " * 1000


def recalls(*references: str) -> list[Any]:
    """An agent's turns: it recalls these, all at once, and is done."""
    asked = [{"id": "call_r", "name": "recall_tool_result", "arguments": {"reference": text}} for text in references]
    return [{"tool_calls": asked}, {"text": "ok"}]


def outputs(entries: list[Entry]) -> list[str]:
    return [f"{entry.kind}:{entry.output}" for entry in entries if isinstance(entry, ToolResultEntry)]


class DamagedArchive(InMemoryResultStore):
    async def get(self, reference: ResultRef) -> str | None:
        raise StoreDamagedError("the file is empty", where="results/1-1.json")


class Place:
    """A session with one run whose two outputs were cut, the whole of them archived."""

    def __init__(self) -> None:
        self.session, self.runs, self.results = InMemorySession(), InMemoryCheckpointer(), InMemoryResultStore()
        self.asked = 0

    async def trimmed(self, *, archive: bool = True) -> Place:
        tool = FakeTool(action=lambda arguments, _: WHOLE + arguments["x"])
        await self.run(agent([calls("a", "b"), "done"], tool), "r1")
        archived = self.results if archive else None
        assert await self.session.trim_tool_results("s", keep_runs=0, archive=archived) == 2
        return self

    async def run(self, who: Agent, run_id: str, **options: Any) -> list[str]:
        result = await Runner.run(
            who, "go", session=self.session, session_id="s", checkpoint=at(self.runs, run_id), **options
        )
        return outputs(result.entries)

    async def ask(self, *references: str) -> list[str]:
        self.asked += 1
        return await self.run(agent(recalls(*references)), f"asks {self.asked}", results=self.results)


@pytest.mark.anyio
async def test_m2_a_reference_gives_the_whole_output_back() -> None:
    place = await Place().trimmed()
    assert await place.ask("r1/1.2", "r1/1.1") == [f"ok:{WHOLE}b", f"ok:{WHOLE}a"]


@pytest.mark.anyio
async def test_m2_a_call_id_means_its_newest_result() -> None:
    place = await Place().trimmed()
    assert await place.ask("call_0") == [f"ok:{WHOLE}b"]
    tool = FakeTool(action=lambda arguments, _: "short " + arguments["x"])
    await place.run(agent([calls("c"), "done"], tool), "r2")
    assert await place.ask("call_0") == ["ok:short c"]
    result = await Runner.run(
        agent([calls("d", "e"), *recalls("call_0", "own/1.1")], tool),
        "go",
        session=place.session,
        session_id="s",
        checkpoint=at(place.runs, "own"),
        results=place.results,
    )
    assert outputs(result.entries)[2:] == ["ok:short e", "ok:short d"]


@pytest.mark.anyio
async def test_m2_what_the_archive_has_not_comes_from_the_transcript() -> None:
    place = await Place().trimmed(archive=False)
    (found,) = await place.ask("r1/1.1")
    assert found == f"ok:{WHOLE[:400]}\n[the other {len(WHOLE) - 399} of {len(WHOLE) + 1} characters are gone]"
    await place.run(agent([calls("x"), "done"], FakeTool()), "r2")
    assert await place.ask("r2/1.1") == ["ok:did x"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("other", "archive"), [(WHOLE + "c", True), ("snow " * 1000 + "a", True), (WHOLE, True), (WHOLE + "c", False)]
)
async def test_m2_an_output_that_the_archive_has_of_another_run_of_that_id_is_not_given(
    other: str, archive: bool
) -> None:
    """Such as one of the same length, or with the same beginning; nor where none was archived."""
    place = await Place().trimmed(archive=archive)
    place.results = InMemoryResultStore()
    await place.results.put(ResultRef("r1", 1, 1), other)
    (found,) = await place.ask("r1/1.1")
    assert found == f"ok:{WHOLE[:400]}\n[the other {len(WHOLE) - 399} of {len(WHOLE) + 1} characters are gone]"


@pytest.mark.anyio
async def test_m2_what_the_conversation_has_not_is_an_error_result_also_when_another_has_it() -> None:
    place = await Place().trimmed()
    await place.results.put(ResultRef("of another session", 1, 1), "secret")
    found = await place.ask("of another session/1.1", "r1/9.1", "call_9", "")
    assert [text.split("; ")[0] for text in found] == [
        f"error:this conversation has no result {wanted!r}"
        for wanted in ("of another session/1.1", "r1/9.1", "call_9", "")
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("arguments", [{}, {"reference": 1}, {"reference": "r1/1.1", "more": 1}])
async def test_m2_other_arguments_are_an_error_result(arguments: dict[str, Any]) -> None:
    place = await Place().trimmed()
    turn = {"tool_calls": [{"id": "c", "name": "recall_tool_result", "arguments": arguments}]}
    (found,) = await place.run(agent([turn, "ok"]), "r2", results=place.results)
    assert found == 'error:give one text: {"reference": "RUN/STEP.POSITION"}'


@pytest.mark.anyio
async def test_d3_a_damaged_archive_is_told_and_stops_no_run() -> None:
    place = await Place().trimmed()
    place.results = DamagedArchive()
    (found,) = await place.ask("r1/1.1")
    assert found == "error:the archived output of r1/1.1 cannot be read: the file is empty (results/1-1.json)"


@pytest.mark.anyio
async def test_m2_the_tool_is_offered_only_with_a_result_store() -> None:
    place = await Place().trimmed()
    (found,) = await place.run(agent(recalls("r1/1.1")), "r2")
    assert found == "error:there is no tool 'recall_tool_result'; the tools are: none"
    offered: list[list[str]] = []
    asked = Requests()
    names = lambda request: offered.append([tool.name for tool in request.tools]) or asked(request)  # noqa: E731 - one line
    await place.run(agent(["ok"], FakeTool(), asked=names), "r3", results=place.results)
    await place.run(agent(["ok"], FakeTool(), asked=names), "r4")
    assert offered == [["work", "recall_tool_result"], ["work"]]


@pytest.mark.anyio
async def test_m2_an_agents_own_tool_of_that_name_stands_for_it() -> None:
    place = await Place().trimmed()
    own = FakeTool("recall_tool_result", action=lambda *_: "mine")
    assert await place.run(agent(recalls("r1/1.1"), own), "r2", results=place.results) == ["ok:mine"]


@pytest.mark.anyio
async def test_z7_the_automatic_tool_is_no_drift() -> None:
    place = await Place().trimmed()
    place.runs = CrashingCheckpointer(crash_at=3)
    with pytest.raises(Crash):
        await place.run(agent([calls("x"), "ok"], FakeTool()), "r2")
    result = await Runner.run(
        agent([calls("x"), "ok"], FakeTool()),
        session=place.session,
        checkpoint=at(place.runs, "r2"),
        results=place.results,
    )
    assert [text for text in result.warnings if "changed" in text and "agent" in text] == []


@pytest.mark.anyio
@pytest.mark.parametrize("policy", ["resume", "restart", "fail", "resume_only"])
@pytest.mark.parametrize("with_checkpoint", [False, True])
async def test_r4_a_run_whose_end_was_rewound_is_refused(policy: str, with_checkpoint: bool) -> None:
    place = Place()
    await place.run(agent([calls("x"), "done"], FakeTool()), "r1")
    await place.session.rewind("s", keep_entries=3)
    if not with_checkpoint:
        await place.runs.delete("r1")
    before = await place.session.segments("s")
    with pytest.raises(ConflictError, match="the end of run 'r1' was cut off session 's' by a rewind"):
        await Runner.run(
            agent(["again"]), "go", session=place.session, session_id="s", checkpoint=at(place.runs, "r1", policy)
        )
    assert await place.session.segments("s") == before


@pytest.mark.anyio
async def test_r4_a_run_that_was_rewound_whole_begins_anew_under_its_id() -> None:
    place = Place()
    for run_id in ("r1", "r2"):
        await place.run(agent(["done"]), run_id)
    await place.runs.delete("r2")
    await place.session.rewind("s", keep_entries=2)
    await place.run(agent([calls("x"), "new"], FakeTool()), "r2")
    assert transcript(await place.session.load("s")) == [
        "user:go",
        "assistant:done",
        "user:go",
        'call:1.1 {"x":"x"}',
        "ok:1.1 did x",
        "assistant:new",
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("keep", range(7))
async def test_c27_the_next_run_goes_on_from_every_cut(keep: int) -> None:
    place, asked = Place(), Requests()
    await place.run(agent([calls("a", "b", text="hm"), "done"], FakeTool()), "r1")
    await place.session.rewind("s", keep_entries=keep)
    await place.run(agent(["more"], asked=asked), "r2")
    left = [
        [],
        ["user:go"],
        ["user:go", "assistant:hm"],
        ["user:go", "assistant:hm"],
        ["user:go", "assistant:hm"],
        ["user:go", "assistant:hm", 'call:1.1 {"x":"a"}', "ok:1.1 did a"],
        ["user:go", "assistant:hm", 'call:1.1 {"x":"a"}', 'call:1.2 {"x":"b"}', "ok:1.1 did a", "ok:1.2 did b"],
    ][keep]
    assert asked.texts == [[*left, "user:go"]]
