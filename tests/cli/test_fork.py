"""``lovia fork`` and ``lovia history --tree``: what the command line takes and says (H2, H3, C31)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lovia_cli.cli.patches import patch_given
from lovia_cli.errors import UserError
from tests.cli.lovia import KEYS, Lovia, call, end, shell_tool

TOOL = "tools:\n" + shell_tool("weather", """echo '{"forecast": "sun"}'""")
TRIP: list[Any] = [
    {"text": "Let me look.", **call("weather", {"city": "Lisbon"}, id="call_weather")},
    {"cases": [{"when": "rain", "text": "Museums it is."}, {"text": "To the beach."}]},
]


@pytest.fixture
def trip(lovia: Lovia) -> Lovia:
    """A run `trip`, finished: input, step 1 with the weather, step 2."""
    lovia.agent(TRIP, tools=TOOL)
    assert lovia("run", "agent.yaml", "Plan my trip", "--run-id", "trip").out == "To the beach.\n"
    return lovia


RAIN = ["--from-step", "1", "--tool-result", 'call_weather={"forecast": "rain"}']


def test_h2_the_seeds_example_from_the_shell(trip: Lovia) -> None:
    before = trip.store_bytes()
    forked = trip("fork", "trip", *RAIN)
    assert (forked.code, forked.out) == (0, "trip.fork-1\n")
    assert forked.err == (
        "forked run trip at step 1 (save 3), with other tool_result 1.1\ngo on with: lovia resume trip.fork-1\n"
    )
    assert trip("resume", "trip.fork-1").out == "Museums it is.\n"
    after = trip.store_bytes()
    assert {name: after[name] for name in before} == before, "the source has changed"
    compared = trip("compare", "trip", "trip.fork-1", "--json", "--exit-code")
    data = compared.json
    assert (compared.code, data["diverged_at"]) == (9, 1)
    assert [event["event"] for event in trip("history", "trip.fork-1", "--json").json["saves"]] == [
        "completed",
        "response",
        "resumed",
        "forked",
        "result",
        "response",
        "started",
    ]


def test_the_command_that_goes_on_names_the_store_it_was_given(trip: Lovia) -> None:
    forked = trip("fork", "trip", "--from-step", "1", "--store", ".lovia")
    assert forked.err.splitlines()[-1] == "go on with: lovia resume --store .lovia trip.fork-1"


def test_h3_run_goes_on_at_once_and_exits_as_the_run_does(trip: Lovia) -> None:
    ran = trip("fork", "trip", *RAIN, "--run", "--json")
    assert list(ran.json) == KEYS
    assert (ran.code, ran.json["run_id"], ran.json["output"]) == (0, "trip.fork-1", "Museums it is.")
    assert ran.json["forked_from"] == {"run_id": "trip", "save": 3, "step": 1}
    events = trip("fork", "trip", "--from-step", "0", "--run", "-o", "ndjson").lines
    assert [events[0]["type"], events[-1]["type"]] == ["run.started", "run.finished"]
    assert {event["run_id"] for event in events} == {"trip.fork-2"}
    trip.agent([TRIP[0]], tools=TOOL)
    failed = trip("fork", "trip", *RAIN, "--run")
    assert (failed.code, failed.out) == (1, "")
    assert "lovia resume trip.fork-3" in failed.err


def test_h2_the_answer_as_data(trip: Lovia) -> None:
    expected = {
        "v": 1,
        "exit_code": 0,
        "store": str(trip.folder / ".lovia"),
        "run_id": "trip.fork-1",
        "session_id": None,
        "status": "interrupted",
        "steps": 1,
        "forked_from": {"run_id": "trip", "save": 2, "step": 1},
        "patched": ["state", "input"],
    }
    blank = trip("fork", "trip", "--from-step", "1", "--append-input", "  ", "--new-id", "blank", "--json").json
    assert blank["patched"] == []
    options = ["--from-save", "2", "--state", '{"n": 1}', "--append-input", "and?"]
    assert trip("fork", "trip", *options, "--json").json == expected
    assert trip("fork", "trip", *options, "-o", "ndjson").lines == [expected | {"run_id": "trip.fork-2"}]


def test_c31_names_unknown_steps_and_the_untouched_parent(trip: Lovia) -> None:
    before = trip.store_bytes()
    assert trip("fork", "trip", "--from-step", "1", "-q").out == "trip.fork-1\n"
    both = [trip.start("fork", "trip", "--from-step", "1", "-q") for _ in range(2)]
    assert sorted(end(process).out for process in both) == ["trip.fork-2\n", "trip.fork-3\n"]
    assert trip("fork", "trip.fork-3", "--from-step", "0", "--new-id", "mine", "-q").out == "mine\n"
    taken = trip("fork", "trip", "--from-step", "1", "--new-id", "mine")
    assert (taken.code, taken.err.splitlines()[0]) == (6, "error: run 'mine' exists already")
    for step, code in (("99", 5), ("-1", 5), ("x", 2)):
        refused = trip("fork", "trip", "--from-step", step)
        assert (refused.code, refused.out) == (code, "")
        assert code == 2 or "  hint: kept are steps 0 to 2 (saves 1 to 5)\n" in refused.err
    assert trip("fork", "trip").code == 2
    assert [run["run_id"] for run in trip("history", "--json").json["runs"]].count("trip") == 1
    after = trip.store_bytes()
    assert {name: after[name] for name in before} == before


def test_h1_a_kept_history_can_be_forked(trip: Lovia) -> None:
    trip("rm", "trip", "-y", "--keep-history")
    hint = "look at it: lovia history trip; or begin a run from it: lovia fork --from-step N trip\n"
    for verb in ("show", "replay"):
        gone = trip(verb, "trip")
        assert (gone.code, gone.err.partition("  hint: ")[2]) == (5, hint), verb
    assert trip("fork", "trip", *RAIN, "--run").out == "Museums it is.\n"
    assert trip("rm", "trip", "-y").code == 0
    assert trip("show", "trip.fork-1", "--json").json["output"] == "Museums it is."
    assert trip("doctor").code == 0


def test_h3_a_fork_of_a_session_has_its_own(trip: Lovia) -> None:
    for number in (1, 2):
        trip("run", "agent.yaml", f"go {number}", "--run-id", f"r{number}", "-s", "u1")
    assert trip("fork", "u1", "--from-step", "1", "-q").out == "r2.fork-1\n", "a session is its last run"
    assert trip("history", "session:r2.fork-1", "--json").json["unfinished"][0]["run_id"] == "r2.fork-1"
    assert trip("run", "agent.yaml", "-s", "r2.fork-1", stdin=b"").code == 0
    segments = trip("history", "session:r2.fork-1", "--json").json["segments"]
    assert [segment["run_id"] for segment in segments] == ["r1", "r2.fork-1"]
    refused = trip("rewind", "r2.fork-1", "--keep-entries", "1", "-y")
    assert (refused.code, refused.err.splitlines()[0]) == (
        6,
        "error: session 'r2.fork-1' shares its beginning with the one it was forked from",
    )
    assert trip("rewind", "r2.fork-1", "--last-run", "-y").code == 0
    assert trip("fork", "r2", "--from-step", "0", "-q").out == "r2.fork-2\n"
    assert trip("rm", "run:r2.fork-2", "-y").code == 0
    left = trip("history", "--json").json
    assert {session["session_id"] for session in left["sessions"]} == {"u1", "r2.fork-1"}
    assert trip("doctor").code == 0


def test_h1_the_tree_shows_forks_under_their_sources(trip: Lovia) -> None:
    for source, new_id in (("trip", "a"), ("a", "b"), ("trip", "c")):
        trip("fork", source, "--from-step", "1", "--new-id", new_id)
    trip("run", "agent.yaml", "go", "--run-id", "other")
    lines = trip("history", "--tree").out.splitlines()
    assert [line.partition("  ")[0] if line[0] != " " else line[:5].rstrip() for line in lines] == [
        "RUN",
        "other",
        "trip",
        "└ a",
        "  └ b",
        "└ c",
    ]
    top = trip("history", "a", "--tree", "--json").json["runs"]
    assert [(run["run_id"], [fork["run_id"] for fork in run["forks"]]) for run in top] == [("a", ["b"])]
    rows = trip("history", "--tree", "-n", "3", "-o", "ndjson").lines
    assert [(row["run_id"], row["depth"]) for row in rows] == [("other", 0), ("trip", 0), ("a", 1)]


@pytest.mark.parametrize(
    ("given", "call_id", "value"),
    [
        ("c1=1", "c1", 1),
        ('a=b={"x": 1}', "a=b", {"x": 1}),
        ('a="b=c"', "a", "b=c"),
        ("2.1=null", "2.1", None),
        ("a=b=@FILE", "a=b", ["from", "a file"]),
    ],
)
def test_h2_call_json_splits_where_json_follows(tmp_path: Path, given: str, call_id: str, value: Any) -> None:
    file = tmp_path / "value.json"
    file.write_text(json.dumps(["from", "a file"]))
    patch = patch_given(None, None, [given.replace("FILE", str(file))], None)
    assert patch.tool_results == [(call_id, value)]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"tool_results": ["c1"]}, "--tool-result takes CALL=JSON or CALL=@FILE, not 'c1'"),
        ({"tool_results": ["c1=rain"]}, "--tool-result takes CALL=JSON"),
        ({"tool_results": ["=1"]}, "--tool-result takes CALL=JSON"),
        ({"tool_results": ["c1=NaN"]}, "--tool-result takes CALL=JSON"),
        ({"tool_results": ["c1=@nowhere.json"]}, "the file cannot be read: No such file"),
        ({"state": "[1]"}, "--state takes a JSON object"),
        ({"state": "{"}, "not JSON"),
        ({"messages": "[]"}, "--messages takes a file"),
        ({"messages": "@FILE"}, "line 2 is not JSON"),
    ],
)
def test_h2_what_cannot_be_read_is_a_usage_error(tmp_path: Path, options: dict[str, Any], what: str) -> None:
    file = tmp_path / "lines"
    file.write_text('{"role": "user", "content": "x"}\nrain\n')
    given = {"messages": None, "state": None, "tool_results": None, "append_input": None, **options}
    given = {name: value.replace("FILE", str(file)) if value == "@FILE" else value for name, value in given.items()}
    with pytest.raises(UserError, match=what):
        patch_given(**given)


def test_h2_json_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, loads = [], json.loads
    monkeypatch.setattr(json, "loads", lambda text, **more: (parsed.append(text), loads(text, **more))[1])
    for name, text in {
        "list": '[{"role": "user"}]',
        "lines": '{"role": "user"}\n{"role": "system"}',
        "null": "null",
    }.items():
        (tmp_path / name).write_text(text)
    patch_given(f"@{tmp_path / 'list'}", None, ["a=b=1"], None)
    assert parsed == ['[{"role": "user"}]', "b=1", "1"]
    parsed.clear()
    patch_given(f"@{tmp_path / 'lines'}", None, None, None)
    assert parsed[1:] == ['{"role": "user"}', '{"role": "system"}']
    with pytest.raises(UserError, match="the file holds no list of messages"):
        patch_given(f"@{tmp_path / 'null'}", None, None, None)


def test_h2_a_transcript_as_show_prints_it_can_be_edited_and_given_back(trip: Lovia) -> None:
    raw = trip("show", "trip", "--raw").out.replace("Plan my trip", "Plan my weekend").splitlines()
    trip.write("lines.jsonl", "\n".join(raw[:4]))
    trip.write("object.json", trip("show", "trip", "--json").out)
    assert trip("fork", "trip", "--from-step", "1", "--messages", "@lines.jsonl", "--run").out == "To the beach.\n"
    entries = trip("show", "trip.fork-1", "--json").json["entries"]
    assert [entry["text"] for entry in entries if entry["type"] == "input"] == ["Plan my weekend"]
    again = trip("fork", "trip", "--from-step", "2", "--messages", "@object.json", "-q")
    assert again.out == "trip.fork-2\n"
    assert trip("compare", "trip", "trip.fork-2", "--exit-code").code == 0


@pytest.mark.parametrize("store", [".lovia", "sqlite:store.db"])
def test_h_a_forked_session_that_ends_with_what_it_shares_means_that_run(lovia: Lovia, store: str) -> None:
    lovia.agent([{"text": "one"}])
    lovia.env["LOVIA_STORE"] = store
    for run_id in ("s1", "s2"):
        lovia("run", "agent.yaml", f"go {run_id}", "--session", "S", "--run-id", run_id)
    lovia("fork", "s2", "--from-step", "0", "--new-id", "k", "--run")
    assert "gone: run k\n" in lovia("rewind", "session:k", "--last-run", "-y").out
    lovia("trim", "S", "--keep-runs", "0", "--keep-chars", "0", "-y")
    for verb in ("replay", "resume"):
        ran = lovia(verb, "session:k", "--json").json
        assert (ran["run_id"], ran["session_id"], ran["output"], ran["replayed"]) == ("s1", "S", "one", True)
    lovia("rm", "s1", "-y")
    lovia("run", "agent.yaml", "something else", "--session", "T", "--run-id", "s1")
    assert lovia("resume", "session:k").err.startswith("error: run 's1' belongs to session 'T', not to 'k'\n")
