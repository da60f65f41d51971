"""A run from its input to its answer, and what of it is stored."""

import pytest

from lovia_cli.engine.runner import Runner
from lovia_cli.errors import UserError
from stores.entries import InputEntry
from stores.memory import InMemoryCheckpointer, InMemorySession
from stores.records import Usage
from tests.engine.kit import Events, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

TRIP = [calls("a", "b", text="Let me look."), calls("c"), "done"]
TRIP_TRANSCRIPT = [
    "user:go",
    "assistant:Let me look.",
    'call:1.1 {"x":"a"}',
    'call:1.2 {"x":"b"}',
    "ok:1.1 did a",
    "ok:1.2 did b",
    'call:2.1 {"x":"c"}',
    "ok:2.1 did c",
    "assistant:done",
]


async def test_r1_r13_a_run_saves_every_step_and_tells_its_numbers():
    store, tool, events = InMemoryCheckpointer(), FakeTool(), Events()
    result = await Runner.run(agent(TRIP, tool), "go", checkpoint=at(store, "r1"), on_event=events)
    assert result.status == "completed"
    assert result.output == "done"
    assert transcript(result.entries) == TRIP_TRANSCRIPT
    assert result.messages == result.entries
    assert (result.steps, result.tool_calls, result.finish_reason, result.final_agent) == (3, 3, "stop", "bot")
    assert result.usage == Usage(requests=3, unknown=3)
    history = await store.history("r1")
    assert [(save.number, save.step, save.event) for save in reversed(history)] == [
        (1, 0, "started"),
        (2, 1, "response"),
        (3, 1, "result"),
        (4, 1, "result"),
        (5, 2, "response"),
        (6, 2, "result"),
        (7, 3, "response"),
        (8, 3, "completed"),
    ]
    stored = await store.load("r1")
    assert stored is not None
    assert stored.entries == result.entries
    assert (stored.head.status, stored.head.output, stored.head.steps) == ("completed", "done", 3)


async def test_events_tell_the_run_in_order_and_saves_come_before_what_depends_on_them():
    store, events = InMemoryCheckpointer(), Events()
    await Runner.run(agent([calls("a"), "done"], FakeTool()), "go", checkpoint=at(store, "r1"), on_event=events)
    assert events.types() == [
        "run.started",
        "model.started",
        "run.saved",
        "model.finished",
        "tool.started",
        "run.saved",
        "tool.finished",
        "model.started",
        "text.delta",
        "run.saved",
        "model.finished",
        "run.saved",
        "run.finished",
    ]
    assert {event.run_id for event in events} == {"r1"}
    assert events.of("run.saved")[0] == {"save": 2, "step": 1, "event": "response"}


async def test_s5_a_session_remembers_the_runs_own_entries_and_the_next_run_starts_from_them():
    store, session, asked = InMemoryCheckpointer(), InMemorySession(), Requests()
    bot = agent(["hello", "again"], asked=asked, loop=True, instructions="Be brief.")
    first = await Runner.run(bot, "hi", session=session, session_id="u1", checkpoint=at(store))
    second = await Runner.run(bot, "more", session=session, session_id="u1", checkpoint=at(store))
    assert first.run_id < second.run_id
    segments = await session.segments("u1")
    assert [segment.run_id for segment in segments] == [first.run_id, second.run_id]
    assert [transcript(segment.entries) for segment in segments] == [
        ["user:hi", "assistant:hello"],
        ["user:more", "assistant:hello"],
    ]
    assert asked.texts == [["user:hi"], ["user:hi", "assistant:hello", "user:more"]]
    assert asked.systems == ["Be brief.", "Be brief."]
    assert transcript(second.messages) == ["user:hi", "assistant:hello", "user:more", "assistant:hello"]
    assert transcript(second.entries) == ["user:more", "assistant:hello"]
    stored = await store.load(second.run_id)
    assert stored is not None
    assert stored.head.history_upto == first.run_id
    timing = segments[0].meta["timing"]
    assert stored.head.started_at is not None
    assert timing["started_at"] <= timing["finished_at"] <= stored.head.started_at


async def test_s5_k5_a_system_message_counts_only_in_a_sessions_first_run():
    session, asked, events = InMemorySession(), Requests(), Events()
    bot = agent(["yes"], asked=asked, loop=True, instructions="Be brief.")
    said = [{"role": "system", "content": "Speak French."}, {"role": "user", "content": "hi"}]
    await Runner.run(bot, said, session=session, session_id="u1")
    said[0]["content"] = "Speak Greek."
    result = await Runner.run(bot, said, session=session, session_id="u1", on_event=events)
    assert asked.systems == ["Be brief.\n\nSpeak French."] * 2
    assert asked.texts[1] == ["user:hi", "assistant:yes", "user:hi"]
    assert transcript(result.entries) == ["user:hi", "assistant:yes"]
    assert result.warnings == ["system messages are ignored: the session has its own"]


async def test_k2_stored_history_sent_again_is_recognised_and_dropped():
    session, asked = InMemorySession(), Requests()
    bot = agent(["yes"], asked=asked, loop=True)
    await Runner.run(bot, "hi", session=session, session_id="u1")
    again = [*await session.load("u1"), InputEntry(text="more")]
    result = await Runner.run(bot, again, session=session, session_id="u1")
    assert transcript(result.entries) == ["user:more", "assistant:yes"]
    assert asked.texts[1] == ["user:hi", "assistant:yes", "user:more"]


async def test_an_assistant_message_that_is_not_stored_is_refused():
    with pytest.raises(UserError, match="not part of the stored conversation"):
        await Runner.run(agent(["x"]), [{"role": "assistant", "content": "made up"}, {"role": "user", "content": "hi"}])


@pytest.mark.parametrize("empty", ["", []])
async def test_a_new_run_needs_an_input_and_leaves_nothing_without(empty):
    store = InMemoryCheckpointer()
    with pytest.raises(UserError, match="no input"):
        await Runner.run(agent(["x"]), empty, checkpoint=at(store, "r1"))
    assert await store.runs() == []


async def test_a_policy_without_a_run_id_is_a_usage_error():
    with pytest.raises(UserError, match="if_run_exists needs a run id"):
        await Runner.run(agent(["x"]), "go", checkpoint=at(InMemoryCheckpointer(), None, "restart"))


async def test_an_empty_response_is_a_step_with_an_empty_answer():
    result = await Runner.run(agent([{}]), "go")
    assert (result.output, result.steps, transcript(result.entries)) == ("", 1, ["user:go", "assistant:"])


async def test_d4_text_that_is_not_clean_unicode_is_cleaned_at_the_edge():
    result = await Runner.run(agent([calls("\ud83d x"), "bye \udc00"], FakeTool()), "hi \ud800")
    assert transcript(result.entries) == [
        "user:hi �",
        'call:1.1 {"x":"� x"}',
        "ok:1.1 did � x",
        "assistant:bye �",
    ]


def city(text):
    if not text.startswith("city:"):
        raise ValueError("it does not begin with 'city:'")
    return {"city": text[5:]}


async def test_an_answer_that_is_no_output_is_repaired_once():
    store, asked, events = InMemoryCheckpointer(), Requests(), Events()
    bot = agent(["Lisbon!", "city:Lisbon"], asked=asked, parse_output=city)
    result = await Runner.run(bot, "go", checkpoint=at(store, "r1"), on_event=events)
    said = "the answer is not the output asked for: it does not begin with 'city:'"
    assert result.output == {"city": "Lisbon"}
    assert transcript(result.entries) == [
        "user:go",
        "assistant:Lisbon!",
        f"user:{said}\nAnswer again, with nothing but the output itself.",
        "assistant:city:Lisbon",
    ]
    assert events.of("output.invalid") == [{"step": 1, "message": said}]


async def test_a_second_answer_that_is_no_output_fails_the_run():
    bot = agent(["Lisbon!", "Porto!"], parse_output=city)
    result = await Runner.outcome(bot, "go")
    assert result.error is not None
    assert (result.status, result.error.code, result.steps) == ("failed", "output_invalid", 2)


async def test_a_session_store_without_a_session_id_is_a_usage_error():
    with pytest.raises(UserError, match="without a session id"):
        await Runner.run(agent(["x"]), "go", session=InMemorySession())


async def test_an_unknown_policy_and_an_input_that_is_none_are_usage_errors():
    store = InMemoryCheckpointer()
    with pytest.raises(UserError, match="unknown if_run_exists 'bogus'"):
        await Runner.run(agent(["x"]), "go", checkpoint=at(store, "r1", "bogus"))
    for nothing in (None, 5):
        with pytest.raises(UserError, match="no text and no list of messages"):
            await Runner.run(agent(["x"]), nothing)


async def test_s3_another_segment_under_the_runs_id_is_left_as_it_is_and_said():
    store, session = InMemoryCheckpointer(), InMemorySession()
    await Runner.run(agent(["one"]), "go", checkpoint=at(store, "r1"), session=session, session_id="u1")
    other = InMemoryCheckpointer()
    await Runner.run(agent(["two"]), "go", checkpoint=at(other, "r1"))
    await other.delete("r1")
    place = {"session": session, "session_id": "u1", "checkpoint": at(other, "r1")}
    replay = await Runner.run(agent(["two"]), "go", **place)
    assert (replay.replayed, replay.output) == (True, "one")
