"""What a run id that exists means (R4 to R7), and replay."""

import pytest

from lovia_cli.engine.runner import Runner
from lovia_cli.errors import ConflictError, RunExistsError, RunLockedError, RunNotFoundError, UserError
from stores.entries import AssistantTextEntry, InputEntry
from stores.memory import InMemoryCheckpointer, InMemorySession
from tests.engine.kit import Crash, CrashingCheckpointer, Events, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio


async def completed(store, session=None, session_id=None):
    return await Runner.run(agent(["done"]), "go", checkpoint=at(store, "r1"), session=session, session_id=session_id)


async def test_r4_fail_refuses_a_run_that_exists_and_starts_one_that_does_not():
    store = InMemoryCheckpointer()
    assert (await Runner.run(agent(["x"]), "go", checkpoint=at(store, "r1", "fail"))).output == "x"
    with pytest.raises(RunExistsError, match="'r1' exists already"):
        await Runner.run(agent(["x"]), "go", checkpoint=at(store, "r1", "fail"))


async def test_r4_resume_only_refuses_a_run_that_does_not_exist():
    store = InMemoryCheckpointer()
    with pytest.raises(RunNotFoundError, match="no run 'r1'"):
        await Runner.run(agent(["x"]), "go", checkpoint=at(store, "r1", "resume_only"))
    assert await store.runs() == []


async def test_r4_restart_discards_saves_and_history_and_starts_fresh():
    store, tool = CrashingCheckpointer(4), FakeTool()
    with pytest.raises(Crash):
        await Runner.run(agent([calls("a"), "done"], tool), "old", checkpoint=at(store, "r1"))
    result = await Runner.run(agent([calls("a"), "done"], tool), "new", checkpoint=at(store, "r1", "restart"))
    assert transcript(result.entries)[0] == "user:new"
    assert tool.ran == {"a": 2}
    assert [save.number for save in await store.history("r1")] == [5, 4, 3, 2, 1]


async def test_r4_a_run_that_takes_the_id_of_a_kept_history_says_so():
    store = InMemoryCheckpointer()
    assert (await completed(store)).warnings == []
    await store.delete("r1", keep_history=True)
    assert (await completed(store)).warnings == ["the history that was kept of a deleted run of this id is replaced"]
    await store.delete("r1")
    assert (await completed(store)).warnings == []


async def test_r6_who_replays_a_run_that_is_executed_is_told_to_wait_and_not_to_resume_it():
    store = InMemoryCheckpointer()
    await Runner.outcome(agent([calls("a"), "done"]), "go", checkpoint=at(store, "r1"), limits={"max_steps": 1})
    with pytest.raises(ConflictError) as stopped:
        await Runner.replay("r1", checkpointer=store)
    async with store.lease("r1"):
        with pytest.raises(ConflictError) as executed:
            await Runner.replay("r1", checkpointer=store)
    hints = [caught.value.hint for caught in (stopped, executed)]
    assert hints == ["go on with it: lovia resume r1", "wait for its end, or stop it: lovia cancel r1"]


async def test_r4_restart_of_a_run_whose_segment_is_stored_is_refused():
    store, session = InMemoryCheckpointer(), InMemorySession()
    await completed(store, session, "u1")
    with pytest.raises(ConflictError, match="could not be appended"):
        await Runner.run(agent(["x"]), "go", checkpoint=at(store, "r1", "restart"), session=session, session_id="u1")
    assert (await store.load("r1")).head.output == "done"


async def test_r4_a_run_without_checkpoint_but_with_a_segment_is_replayed_from_it():
    session, asked = InMemorySession(), Requests()
    entries = [InputEntry(text="go"), AssistantTextEntry(text="kept", step=1)]
    await session.append("u1", entries, run_id="r1")
    result = await Runner.run(
        agent(["x"], asked=asked), "go", session=session, session_id="u1", checkpoint=at(InMemoryCheckpointer(), "r1")
    )
    assert (result.output, result.replayed, result.status) == ("kept", True, "completed")
    assert asked.numbers == []
    with pytest.raises(RunExistsError):
        await Runner.run(
            agent(["x"]), "go", session=session, session_id="u1", checkpoint=at(InMemoryCheckpointer(), "r1", "fail")
        )


async def test_r4_a_run_of_another_session_is_refused_and_its_own_is_used_when_none_is_given():
    store, session = CrashingCheckpointer(2), InMemorySession()
    with pytest.raises(Crash):
        await completed(store, session, "u1")
    with pytest.raises(ConflictError, match="belongs to session 'u1', not to 'u2'"):
        await completed(store, session, "u2")
    with pytest.raises(UserError, match="belongs to session 'u1'"):
        await completed(store)
    result = await completed(store, session)
    assert result.session_id == "u1"
    assert [segment.run_id for segment in await session.segments("u1")] == ["r1"]


async def test_r4_a_run_without_a_session_is_refused_in_one():
    store, session = CrashingCheckpointer(2), InMemorySession()
    with pytest.raises(Crash):
        await completed(store)
    with pytest.raises(ConflictError, match="belongs to no session"):
        await completed(store, session, "u1")


@pytest.mark.parametrize(("given", "ignored"), [("go", False), ("other", True), ("", False), ([], False)])
async def test_r5_under_a_run_id_new_input_is_ignored_and_that_is_said(given, ignored):
    store = CrashingCheckpointer(2)
    with pytest.raises(Crash):
        await completed(store)
    resumed = await Runner.run(agent(["done"]), given, checkpoint=at(store, "r1"))
    replayed = await Runner.run(agent(["done"]), given, checkpoint=at(store, "r1"))
    for result in (resumed, replayed):
        assert transcript(result.entries) == ["user:go", "assistant:done"]
        assert result.input_ignored is ignored


async def test_r5_k2_steer_adds_input_to_an_unfinished_run_and_is_refused_by_a_completed_one():
    store, asked = CrashingCheckpointer(2), Requests()
    with pytest.raises(Crash):
        await completed(store)
    bot = agent(["done"], asked=asked)
    result = await Runner.run(bot, [], checkpoint=at(store, "r1", "resume_only"), steer="be quick")
    assert transcript(result.entries) == ["user:go", "user:be quick", "assistant:done"]
    with pytest.raises(ConflictError, match="takes no more input"):
        await Runner.run(bot, [], checkpoint=at(store, "r1", "resume_only"), steer="more")


async def test_r6_a_replay_gives_the_stored_result_without_the_model_between_two_events():
    store, events, asked = InMemoryCheckpointer(), Events(), Requests()
    usage = {"input_tokens": 3, "output_tokens": 1}
    turns = [{**calls("a"), "usage": usage}, {"text": "done", "usage": usage}]
    first = await Runner.run(agent(turns, FakeTool()), "go", checkpoint=at(store, "r1"))
    before = await store.history("r1")
    bot = agent(turns, FakeTool(), asked=asked)
    again = await Runner.run(bot, "go", checkpoint=at(store, "r1"), on_event=events)
    assert events.types() == ["run.started", "run.finished"]
    assert [event.data["replayed"] for event in events] == [True, True]
    assert asked.numbers == []
    assert (again.output, again.entries, again.usage) == (first.output, first.entries, first.usage)
    assert (again.steps, again.tool_calls, again.finish_reason) == (2, 1, "stop")
    assert await store.history("r1") == before


class SessionThatFailsOnce(InMemorySession):
    """Its first append is lost on the way."""

    failed = False

    async def append(self, *args, **kwargs):
        if not self.failed:
            self.failed = True
            raise Crash
        return await super().append(*args, **kwargs)


async def test_r6_r7_a_crash_between_checkpoint_and_append_is_healed_by_the_same_command():
    store, session = InMemoryCheckpointer(), SessionThatFailsOnce()
    with pytest.raises(Crash):
        await completed(store, session, "u1")
    assert (await store.load("r1")).status == "completed"
    assert await session.segments("u1") == []
    result = await completed(store, session, "u1")
    assert result.replayed
    assert transcript(await session.load("u1")) == ["user:go", "assistant:done"]


async def test_r7_the_next_run_of_the_session_heals_it_too():
    store, session, asked = InMemoryCheckpointer(), SessionThatFailsOnce(), Requests()
    with pytest.raises(Crash):
        await completed(store, session, "u1")
    bot = agent(["two"], asked=asked)
    await Runner.run(bot, "next", session=session, session_id="u1", checkpoint=at(store))
    assert asked.texts == [["user:go", "assistant:done", "user:next"]]


async def test_r10_an_output_that_is_not_json_completes_the_run_and_its_replay_says_so_after_healing():
    store, session = InMemoryCheckpointer(), SessionThatFailsOnce()
    bot = agent(["done"], parse_output=lambda text: object())
    with pytest.raises(Crash):
        await Runner.run(bot, "go", checkpoint=at(store, "r1"), session=session, session_id="u1")
    replay = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), session=session, session_id="u1")
    assert replay.error is not None
    assert (replay.status, replay.error.code) == ("completed", "output_not_stored")
    assert transcript(await session.load("u1")) == ["user:go", "assistant:done"]


async def test_parse_output_turns_the_text_into_the_output():
    store, bot = InMemoryCheckpointer(), agent(["7"], parse_output=int)
    assert (await Runner.run(bot, "go", checkpoint=at(store, "r1"))).output == 7
    assert (await Runner.run(bot, "go", checkpoint=at(store, "r1"))).output == 7


async def test_r11_a_second_executor_is_refused_and_names_the_first():
    store = InMemoryCheckpointer()

    async def work(arguments, context):
        with pytest.raises(RunLockedError, match=r"is being executed by process \d+ on "):
            await completed(store)
        return "refused"

    bot = agent([calls("a"), "done"], FakeTool(action=work))
    result = await Runner.run(bot, "go", checkpoint=at(store, "r1"))
    assert "ok:1.1 refused" in transcript(result.entries)
