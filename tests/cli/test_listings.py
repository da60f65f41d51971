"""`history` and `show`: what is listed, in which order, and how a transcript reads."""

import asyncio
import json
from pathlib import Path

import pytest

from lovia_cli import FileSession
from stores.entries import AssistantTextEntry, Entry, InputEntry
from tests.cli.lovia import Lovia, call, shell_tool
from tests.cli.terminal import at_terminal

TWO_CALLS = {
    "reasoning": "Look first.",
    "text": "Let me look.",
    "tool_calls": [
        {"id": "c", "name": "look", "arguments": {"at": "x"}},
        {"id": "c", "name": "nosuch", "arguments": {}},
    ],
}
TOOL = (
    "tools:\n  - {type: shell, name: look, description: x, command: [echo, 'seen ${args.at}'],"
    " args: {at: {type: string}}}\n"
)


def talk(lovia: Lovia) -> None:
    """Session u1 with runs r1 and r2, and run r3 of no session."""
    lovia.agent([TWO_CALLS, {"text": "one\ntwo"}], tools=TOOL)
    lovia("run", "agent.yaml", "first", "-s", "u1", "--run-id", "r1")
    lovia("run", "agent.yaml", "second", "-s", "u1", "--run-id", "r2")
    lovia("run", "agent.yaml", "third", "--run-id", "r3")


def test_history_lists_runs_and_sessions_newest_first(lovia: Lovia) -> None:
    talk(lovia)
    data = lovia("history", "--json").json
    assert [run["run_id"] for run in data["runs"]] == ["r3", "r2", "r1"]
    assert [(s["session_id"], s["segments"], s["entries"]) for s in data["sessions"]] == [("u1", 2, 16)]
    run = data["runs"][1]
    assert (run["status"], run["session_id"], run["steps"], run["agent"]) == ("completed", "u1", 2, "tester")
    rows = lovia("history", "-o", "ndjson").lines
    assert [row.get("run_id") or row["session_id"] for row in rows if row["kind"] == "run"] == ["r3", "r2", "r1"]
    assert sorted(row["kind"] for row in rows) == ["run", "run", "run", "session"]
    assert [run["run_id"] for run in lovia("history", "-n", "1", "--json").json["runs"]] == ["r3"]


def test_history_is_one_record_a_line_without_a_terminal(lovia: Lovia) -> None:
    name = "long " * 50
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", name, "-s", name)
    lines = lovia("history").out.splitlines()
    assert len(lines) == 3
    assert all(name in line for line in lines[1:])


def test_h1_history_of_a_run_is_its_saves_newest_first(lovia: Lovia) -> None:
    talk(lovia)
    data = lovia("history", "r1", "--json").json
    assert (data["kind"], data["run_id"], data["session_id"]) == ("run", "r1", "u1")
    assert [(save["save"], save["step"], save["event"]) for save in data["saves"]] == [
        (6, 2, "completed"), (5, 2, "response"), (4, 1, "result"), (3, 1, "result"),
        (2, 1, "response"), (1, 0, "started"),
    ]  # fmt: skip
    assert [save["entries"] for save in data["saves"]] == [8, 8, 7, 6, 5, 1]
    assert [row["save"] for row in lovia("history", "r1", "-n", "2", "-o", "ndjson").lines] == [6, 5]


def test_history_of_a_session_is_its_segments_and_what_is_unfinished(lovia: Lovia) -> None:
    talk(lovia)
    lovia("run", "agent.yaml", "more", "-s", "u1", "--run-id", "r4", "--max-steps", "1")
    data = lovia("history", "u1", "--json").json
    assert [(s["n"], s["run_id"], s["entries"]) for s in data["segments"]] == [(1, "r1", 8), (2, "r2", 8)]
    assert [(run["run_id"], run["status"], run["stop"]["reason"]) for run in data["unfinished"]] == [
        ("r4", "interrupted", "limit")
    ]
    assert "unfinished: run r4, interrupted (limit), 1 step" in lovia("history", "u1").out


def test_c01_a_killed_run_is_shown_as_interrupted(lovia: Lovia) -> None:
    lovia.agent([call("die"), {"text": "ok"}], tools="tools:\n" + shell_tool("die", "kill -9 $PPID"))
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1").code == -9
    assert lovia("history", "r1", "--json").json["status"] == "interrupted"
    assert "interrupted" in lovia("history").out


def test_show_of_a_run_reads_step_by_step(lovia: Lovia) -> None:
    talk(lovia)
    assert lovia("show", "r1").out == (
        "run r1: completed, agent tester, session u1\n"
        "--- input ---\n"
        "user: first\n"
        "--- step 1 ---\n"
        "reasoning: Look first.\n"
        "assistant: Let me look.\n"
        'call 1.1 look {"at":"x"}\n'
        "call 1.2 nosuch {}\n"
        "result 1.1 seen x\n"
        "result 1.2 error there is no tool 'nosuch'; the tools are: look\n"
        "--- step 2 ---\n"
        "assistant:\n"
        "    one\n"
        "    two\n"
    )


def test_m3_show_of_a_session_numbers_its_entries_from_1(lovia: Lovia) -> None:
    talk(lovia)
    data = lovia("show", "u1", "--json").json
    assert [entry["n"] for entry in data["entries"]] == list(range(1, 17))
    assert [entry["run_id"] for entry in data["entries"]] == ["r1"] * 8 + ["r2"] * 8
    lines = lovia("show", "u1").out.splitlines()
    assert lines[:2] == ["--- run r1 ---", " 1  user: first"]
    assert "--- run r2 ---" in lines
    assert " 9  user: second" in lines


def test_show_of_a_part(lovia: Lovia) -> None:
    talk(lovia)
    assert lovia("show", "r1", "--step", "0").out == "--- input ---\nuser: first\n"
    by_place = lovia("show", "r1", "--call", "1.2", "--json").json
    assert [(entry["type"], entry["n"]) for entry in by_place["entries"]] == [("tool_call", 5), ("tool_result", 7)]
    several = lovia("show", "r1", "--call", "c")
    assert (several.code, "names 2 calls: 1.1, 1.2" in several.err) == (2, True)


def test_show_raw_is_the_stored_form(lovia: Lovia) -> None:
    talk(lovia)
    first = json.loads(lovia("show", "r1", "--raw").out.splitlines()[0])
    assert first == {"n": 1, "run_id": "r1", "type": "input", "text": "first"}


def test_a_long_output_is_cut_at_a_terminal_only_and_says_how_to_see_it(lovia: Lovia) -> None:
    lovia.agent([call("long"), {"text": "ok"}], tools="tools:\n" + shell_tool("long", "printf '%05000d' 0"))
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    assert (
        "    ... 3,000 more characters, shown with --call 1.1" in at_terminal(lovia, "show", "r1", "--no-color").lines
    )
    for more in (["--call", "1.1"], ["-v"]):
        assert at_terminal(lovia, "show", "r1", *more).text.count("0") >= 5000
    assert "0" * 5000 in lovia("show", "r1").out


# --- settings ---------------------------------------------------------------------------------------------------------


def test_the_store_is_the_nearest_upward(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    deep = lovia.folder / "a" / "b"
    deep.mkdir(parents=True)
    assert lovia("resume", "r1", cwd=deep).out == "hi\n"
    assert not (deep / ".lovia").exists()


def test_flag_before_environment_before_folder(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "here")
    lovia("run", "agent.yaml", "go", "--run-id", "env", env={"LOVIA_STORE": "by-env"})
    lovia("run", "agent.yaml", "go", "--run-id", "flag", "--store", "file:by-flag", env={"LOVIA_STORE": "by-env"})
    for argv, env, expected in [
        ([], {}, "here"),
        ([], {"LOVIA_STORE": "by-env"}, "env"),
        (["--store", "by-flag"], {"LOVIA_STORE": "by-env"}, "flag"),
    ]:
        assert [run["run_id"] for run in lovia("history", "--json", *argv, env=env).json["runs"]] == [expected]


def test_output_from_the_environment(lovia: Lovia) -> None:
    assert lovia("history", env={"LOVIA_OUTPUT": "json"}).json["runs"] == []
    assert lovia("history", "-o", "text", env={"LOVIA_OUTPUT": "json"}).out.startswith("no runs")
    assert lovia("history", env={"LOVIA_OUTPUT": "xml"}).code == 2


# --- which agent file -------------------------------------------------------------------------------------------------


def says(lovia: Lovia, name: str, folder: Path | None = None) -> str:
    """An agent file that answers with its own name."""
    path = (folder or lovia.folder) / name
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".script").write_text(json.dumps({"turns": [{"text": name}]}))
    path.write_text(f"version: 1\nname: {path.stem}\nmodel: scripted:{path.stem}.script\n")
    return name


def test_the_agent_file_given_wins_over_all(lovia: Lovia) -> None:
    for name in ("given.yml", "env.yaml", "agent.yaml"):
        says(lovia, name)
    env = {"LOVIA_AGENT": "env.yaml"}
    assert lovia("run", "given.yml", "go", env=env).out == "given.yml\n"
    assert lovia("run", "go", "given.yml", env=env).out == "given.yml\n"
    assert lovia("run", "go", env=env).out == "env.yaml\n"
    assert lovia("run", "go").out == "agent.yaml\n"


def test_a_session_keeps_its_agent_file(lovia: Lovia) -> None:
    says(lovia, "agent.yaml")
    says(lovia, "other.yaml", lovia.folder / "deep")
    lovia("run", "deep/other.yaml", "go", "-s", "u1")
    elsewhere = lovia.folder / "elsewhere"
    elsewhere.mkdir()
    assert lovia("run", "-s", "u1", "again", cwd=elsewhere).out == "other.yaml\n"
    assert lovia("run", "again", cwd=elsewhere).out == "agent.yaml\n"


def test_z8_a_run_resumes_with_what_it_was_started_with_from_anywhere(lovia: Lovia) -> None:
    lovia.agent(
        [call("look"), {"text": "ok"}],
        tools="tools:\n" + shell_tool("look", "pwd >> where.txt"),
        more="parameters: {city: {type: string}}\ninstructions: Go to {{ city }}.",
    )
    lovia.write("other.yaml", json.dumps({"turns": [call("look"), {"text": "other"}]}))
    lovia(
        "run", "agent.yaml", "go", "--run-id", "r1", "-p", "city=Porto", "-m", "scripted:other.yaml", "--max-steps", "1"
    )
    elsewhere = lovia.folder / "elsewhere"
    elsewhere.mkdir()
    ran = lovia("resume", "r1", "--max-steps", "5", cwd=elsewhere)
    assert (ran.code, ran.out) == (0, "other\n"), ran
    assert (lovia.folder / "where.txt").read_text() == f"{lovia.folder}\n"


def test_z8_a_missing_agent_file_is_an_error_that_names_the_option(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "ok"}], tools="tools:\n" + shell_tool("look", "echo x"))
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "--max-steps", "1")
    (lovia.folder / "agent.yaml").rename(lovia.folder / "moved.yaml")
    before = lovia.store_bytes()
    ran = lovia("resume", "r1", "--max-steps", "5")
    assert (ran.code, "lovia resume --agent FILE r1" in ran.err) == (3, True)
    assert lovia.store_bytes() == before
    assert lovia("resume", "r1", "--agent", "moved.yaml", "--max-steps", "5").out == "ok\n"


def test_no_agent_file_at_all_is_a_usage_error(lovia: Lovia) -> None:
    ran = lovia("run", "go")
    assert (ran.code, "no agent file given" in ran.err) == (2, True)
    assert list(lovia.folder.iterdir()) == []


# --- the session key (K) ----------------------------------------------------------------------------------------------


def test_k2_new_input_goes_to_the_unfinished_run_and_a_retry_is_not_sent_twice(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "ok"}], tools="tools:\n" + shell_tool("look", "echo x"))
    lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1", "--timeout", "0.000001")
    assert lovia("run", "agent.yaml", "go", "-s", "u1", "--json").json["run_id"] == "r1"
    texts = [entry["text"] for entry in lovia("show", "u1", "--json").json["entries"] if entry["type"] == "input"]
    assert texts == ["go"]


def test_k2_an_empty_input_just_goes_on(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "ok"}], tools="tools:\n" + shell_tool("look", "echo x"))
    lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1", "--timeout", "0.000001")
    ran = lovia("run", "-s", "u1", "  ", "--json")
    assert (ran.code, ran.json["run_id"], ran.json["status"]) == (0, "r1", "completed")
    assert [entry["type"] for entry in lovia("show", "r1", "--json").json["entries"]].count("input") == 1


def test_k2_input_that_waits_for_the_run_to_go_on_is_shown(lovia: Lovia) -> None:
    two = {"tool_calls": [{"name": "look", "arguments": {}}, {"name": "look", "arguments": {}}]}
    lovia.agent([two, {"text": "ok"}], tools="tools:\n" + shell_tool("look", "echo x"))
    lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1", "--limit", "max_tool_calls=1")
    lovia("run", "-s", "u1", "also this", "--limit", "max_tool_calls=9", "--timeout", "0.000001")
    shown = lovia("show", "r1").out.splitlines()
    assert shown[-2:] == ["--- queued: sent when the run goes on ---", "user: also this"]
    assert [entry["text"] for entry in lovia("show", "r1", "--json").json["queued_input"]] == ["also this"]
    assert lovia("show", "r1", "-o", "ndjson").lines[-1]["kind"] == "queued_input"
    exported = lovia("export", "r1", "--format", "md").out
    assert exported.endswith("### Queued: sent when the run goes on\n\n**user**\n\n```\nalso this\n```\n")
    assert lovia("resume", "r1").code == 0
    assert lovia("show", "r1", "--json").json["queued_input"] == []


def test_k6_an_unfinished_run_beside_is_named(lovia: Lovia) -> None:
    lovia.agent([{"text": "ok"}])
    lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1", "--timeout", "0.000001")
    ran = lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r2")
    assert ran.code == 0
    assert "warning: run r1 of this session is unfinished (interrupted)" in ran.err
    events = lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r3", "-o", "ndjson").lines
    assert [event["code"] for event in events if event["type"] == "notice"] == ["unfinished"]


@pytest.mark.parametrize("policy", ["resume", "restart", "resume-only"])
def test_r4_if_run_exists(lovia: Lovia, policy: str) -> None:
    lovia.agent([{"text": "ok"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1", "--if-run-exists", policy, "--json")
    assert (ran.code, ran.json["replayed"]) == (0, policy != "restart")


def test_s6_finalize_ends_a_run_as_it_stands(lovia: Lovia) -> None:
    lovia.agent([{"text": "so far", **call("look")}, {"text": "ok"}], tools="tools:\n" + shell_tool("look", "echo x"))
    lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1", "--max-steps", "1")
    ran = lovia("runs", "finalize", "u1")
    assert (ran.code, ran.out) == (0, "so far\n")
    assert [segment["run_id"] for segment in lovia("history", "u1", "--json").json["segments"]] == ["r1"]
    assert lovia("runs", "finalize", "r1", "--json").json["status"] == "completed"


@pytest.mark.parametrize(
    "meta",
    [
        {"run": "nightly", "timing": "soon"},
        {"run": {"usage": {"input_tokens": "x"}, "steps": [1], "config": 5}, "timing": {"finished_at": "x"}},
    ],
)
def test_s1_a_segment_with_anybodys_meta_is_shown_like_others(lovia: Lovia, meta: dict[str, object]) -> None:
    """It is opaque: what lovia itself notes there is taken for that only where it is such."""
    lovia.agent([{"text": "fine"}])
    said: list[Entry] = [InputEntry(text="hi"), AssistantTextEntry(text="yo", step=1)]
    asyncio.run(FileSession(lovia.folder / ".lovia").append("u", said, run_id="n1", meta=meta))
    listed = lovia("history", "session:u").out.splitlines()
    assert listed[0] == "session u: 1 finished run"
    assert listed[2].split()[:3] == ["1", "n1", "-"]
    for command in (["show", "session:u"], ["history", "session:u", "--since", "1d"], ["doctor"]):
        assert lovia(*command).code == 0, command
    for form in ("jsonl", "json", "md", "html"):
        assert "yo" in lovia("export", "session:u", "--format", form).out
    assert lovia("run", "agent.yaml", "more", "-s", "u").out == "fine\n"
    assert lovia("trim", "u", "-y").code == 0
