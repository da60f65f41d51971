"""A session key with an unfinished run (section 5 of the contract)."""

import asyncio
from contextlib import suppress

import pytest

from lovia_cli.agent import Limits
from lovia_cli.engine.runner import Runner, StopSwitch
from lovia_cli.errors import ConflictError, RunLockedError, SignalReceived
from stores.memory import InMemorySession
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

TURNS = [calls("a"), "done", "more done"]


class Place:
    """A store and a session, and the command ``lovia run INPUT --session u1``."""

    def __init__(self, crash_at: int = 0, *, after: bool = False) -> None:
        self.store, self.session, self.tool = CrashingCheckpointer(crash_at, after=after), InMemorySession(), FakeTool()
        self.asked = Requests()

    def bot(self, **more):
        return agent(more.pop("turns", TURNS), self.tool, asked=self.asked, loop=True, **more)

    async def run(self, text="go", run_id=None, **more):
        bot = more.pop("bot", None) or self.bot()
        place = {"session": self.session, "session_id": "u1", "checkpoint": at(self.store, run_id)}
        return await Runner.outcome(bot, text, **place, **more)

    async def segments(self):
        return [transcript(segment.entries) for segment in await self.session.segments("u1")]


async def test_k1_without_an_unfinished_run_a_new_one_starts_with_the_history():
    place = Place()
    first, second = await place.run("hi"), await place.run("hi")
    assert first.run_id != second.run_id
    assert len(await place.segments()) == 2


@pytest.mark.parametrize("text", ["go", ""])
async def test_k2_a_repeat_or_an_empty_input_resumes(text):
    place = Place(3)
    with pytest.raises(Crash):
        await place.run()
    [run] = await place.store.runs()
    result = await place.run(text)
    assert result.run_id == run.run_id
    assert await place.segments() == [["user:go", 'call:1.1 {"x":"a"}', "ok:1.1 did a", "assistant:done"]]


async def test_k2_new_input_comes_after_the_pending_results():
    place = Place(3)
    with pytest.raises(Crash):
        await place.run()
    result = await place.run("hurry")
    assert await place.segments() == [["user:go", 'call:1.1 {"x":"a"}', "ok:1.1 did a", "user:hurry", "assistant:done"]]
    assert result.warnings == [f"continues run {result.run_id} (interrupted)"]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("crash_at", range(1, 8))
async def test_k2_new_input_is_in_the_transcript_once_whenever_the_run_is_killed_and_issued_again(crash_at, after):
    place = Place(3)
    with pytest.raises(Crash):
        await place.run()
    place.store.crash_at, place.store.after = place.store.count + crash_at, after
    with suppress(Crash):  # some need fewer saves
        await place.run("hurry")
    [run] = await place.store.runs()
    await place.run("hurry", run.run_id if run.status == "completed" else None)
    assert (await place.segments())[0] == [
        "user:go", 'call:1.1 {"x":"a"}', "ok:1.1 did a", "user:hurry", "assistant:done"
    ]  # fmt: skip


async def test_k2_input_after_a_final_answer_that_was_not_completed_is_answered():
    place = Place(5)
    with pytest.raises(Crash):
        await place.run()
    await place.run("and then?")
    assert (await place.segments())[0][-3:] == ["assistant:done", "user:and then?", "assistant:more done"]


async def test_k2_after_completion_a_repeat_is_a_new_run():
    place = Place()
    await place.run("go")
    await place.run("go")
    assert len(await place.segments()) == 2


async def limited(place: Place):
    bot = place.bot(limits=Limits(max_steps=1))
    result = await place.run(bot=bot)
    assert (result.status, result.stop["limit"]) == ("interrupted", "max_steps")
    return bot, result


async def test_k2_a_used_up_limit_stops_an_empty_input_again():
    place = Place()
    bot, first = await limited(place)
    again = await place.run("", bot=bot)
    assert (again.run_id, again.stop) == (first.run_id, first.stop)
    assert again.error.code == "limit"


async def test_k2_a_higher_limit_lets_it_go_on():
    place = Place()
    bot, first = await limited(place)
    result = await place.run("", bot=bot, limits={"max_steps": 2})
    assert (result.run_id, result.status) == (first.run_id, "completed")


async def test_k2_new_input_after_a_used_up_limit_finalises_the_run_and_starts_a_new_one():
    place = Place()
    _, first = await limited(place)
    second = await place.run("next", bot=place.bot(turns=["fine"]))
    assert second.run_id != first.run_id
    assert await place.segments() == [
        ["user:go", 'call:1.1 {"x":"a"}', "ok:1.1 did a"],
        ["user:next", "assistant:fine"],
    ]
    assert (await place.session.segments("u1"))[0].meta["finalized"] is True


async def test_k4_a_run_being_executed_is_refused():
    place = Place()

    async def work(arguments, context):
        with pytest.raises(RunLockedError, match=r"is being executed by process \d+ on "):
            await place.run("other")
        return "refused"

    result = await place.run(bot=agent(TURNS, FakeTool(action=work)))
    assert result.status == "completed"
    assert len(await place.segments()) == 1


async def test_c03_k6_a_run_id_of_its_own_starts_beside_an_unfinished_run_and_segments_stand_in_order_of_completion():
    place = Place(3)
    with pytest.raises(Crash):
        await place.run("go", "job-1")
    asked = Requests()
    second = await place.run("hello", "job-2", bot=agent(["hi"], asked=asked))
    assert asked.texts == [["user:hello"]]
    assert second.warnings == ["run job-1 of this session is unfinished (interrupted)"]
    await place.run("go", "job-1")
    assert [segment.run_id for segment in await place.session.segments("u1")] == ["job-2", "job-1"]


async def test_k6_of_several_unfinished_runs_the_one_updated_last_goes_on_and_the_others_are_named():
    place = Place(3)
    with pytest.raises(Crash):
        await place.run("go", "job-1")
    place.store.crash_at = place.store.count + 3
    with pytest.raises(Crash):
        await place.run("go", "job-2")
    result = await place.run("")
    assert result.run_id == "job-2"
    assert "run job-1 of this session is unfinished (interrupted)" in result.warnings


async def test_k6_another_agent_is_refused_and_finalize_is_named():
    place = Place(3)
    with pytest.raises(Crash):
        await place.run()
    with pytest.raises(ConflictError, match="belongs to agent 'bot', which 'other' does not know") as refused:
        await place.run("", bot=agent(["x"], name="other"))
    assert "lovia runs finalize" in refused.value.hint


async def test_z2_a_call_stopped_by_a_signal_runs_again_without_new_input_and_is_cancelled_by_it():
    for text, expected in (("", "ok:1.1 did a"), ("instead", "cancelled:1.1 ")):
        place = Place()
        switch = StopSwitch()

        async def work(arguments, context, switch=switch):
            switch.stop(SignalReceived(15, "SIGTERM"))
            await asyncio.Event().wait()

        stopped = await place.run(bot=agent(TURNS, FakeTool(action=work)), stop=switch)
        assert (stopped.status, stopped.stop["signal"]) == ("interrupted", 15)
        assert stopped.snapshot.head.stopped_calls == ["1.1"]
        await place.run(text)
        lines = (await place.segments())[0]
        assert lines[2].startswith(expected)
        assert place.tool.ran == ({"a": 1} if text == "" else {})
        assert ("user:instead" in lines) is bool(text)
        [info] = await place.store.runs()
        assert (await place.store.load(info.run_id)).head.stopped_calls == []


async def test_z2_a_call_that_was_stopped_and_then_lost_in_a_crash_runs_again_though_new_input_comes():
    place, switch = Place(), StopSwitch()

    async def stopped(arguments, context):
        switch.stop(SignalReceived(15, "SIGTERM"))
        await asyncio.Event().wait()

    def lost(arguments, context):
        raise Crash

    await place.run(bot=agent(TURNS, FakeTool(action=stopped)), stop=switch)
    with pytest.raises(Crash):
        await place.run("", bot=agent(TURNS, FakeTool(action=lost)))
    await place.run("hurry")
    assert (await place.segments())[0][2:] == ["ok:1.1 did a", "user:hurry", "assistant:done"]


async def test_k2_a_retry_is_said_to_be_one():
    place = Place(3)
    with pytest.raises(Crash):
        await place.run()
    result = await place.run("go")
    assert "the run has this input already; it is not sent again" in result.warnings


async def test_k2_that_a_run_is_finalised_for_new_input_is_said():
    place = Place()
    _, first = await limited(place)
    second = await place.run("next", bot=place.bot(turns=["fine"]))
    assert second.warnings == [f"run {first.run_id} had used up its limit; it was ended as it stood"]


FILE, OTHER = ({"type": "file", "media_type": "text/plain", "name": name, "data": "YQ=="} for name in ("a", "b"))


@pytest.mark.parametrize(
    ("first", "second", "users"),
    [
        ([FILE], [FILE], [["a"]]),
        ([FILE], [OTHER], [["a"], ["b"]]),
        ([], [FILE], [[], ["a"]]),
        ([FILE], [], [["a"], []]),
    ],
)
async def test_k2_the_same_text_with_other_attachments_is_no_retry(first, second, users):
    place = Place(3)

    def send(parts):
        return place.run([{"role": "user", "content": "look", "parts": parts}])

    with pytest.raises(Crash):
        await send(first)
    result = await send(second)
    inputs = [entry for entry in result.entries if entry.type == "input"]
    assert [[part["name"] for part in entry.parts] for entry in inputs] == users
    repeated = "the run has this input already; it is not sent again"
    assert (repeated in result.warnings) == (first == second)
