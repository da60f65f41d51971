"""What goes to which stream, in every circumstance of the streams."""

import json
import os

import pytest

from tests.cli.lovia import KEYS, Lovia, call, shell_tool

NOISY = """
import os, sys
def noisy() -> str:
    "Make noise everywhere."
    print("printed")
    print("to stderr", file=sys.stderr)
    sys.stdout.buffer.write(b"raw bytes\\n")
    os.system("echo from fd 1")
    os.write(1, b"written\\n")
    return "done"
"""


def noisy_agent(lovia: Lovia) -> None:
    lovia.write("tools.py", NOISY)
    lovia.agent([call("noisy"), {"text": "the answer"}], tools="tools: [./tools.py:noisy]")


def test_text_stdout_is_the_answer_only_whatever_a_tool_prints(lovia: Lovia) -> None:
    noisy_agent(lovia)
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1")
    assert (ran.code, ran.out) == (0, "the answer\n")
    for noise in ("printed", "to stderr", "raw bytes", "from fd 1", "written"):
        assert noise in ran.err


@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_data_stdout_is_json_only_whatever_a_tool_prints(lovia: Lovia, form: str) -> None:
    noisy_agent(lovia)
    ran = lovia("run", "agent.yaml", "go", "-o", form)
    assert ran.code == 0
    assert all(isinstance(line, dict) for line in ran.lines)


def test_the_run_is_named_before_the_model_is_called(lovia: Lovia) -> None:
    lovia.agent([{"fail": {"status": 400}}])
    ran = lovia("run", "agent.yaml", "go", "--run-id", "job-1", "-s", "u1")
    assert ran.err.splitlines()[0] == "run job-1 (session u1)"


def test_a_generated_id_is_named_too(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia("run", "agent.yaml", "go")
    run_id = ran.err.splitlines()[0].removeprefix("run ")
    assert lovia("history", run_id, "--json").json["run_id"] == run_id


def test_quiet_says_nothing_but_the_answer(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia("-q", "run", "agent.yaml", "go")
    assert (ran.out, ran.err) == ("hi\n", "")


def test_verbose_shows_tools_without_a_terminal(lovia: Lovia) -> None:
    lovia.agent([call("hi", {}), {"text": "ok"}], tools="tools:\n" + shell_tool("hi", "echo there"))
    shown = lovia("run", "agent.yaml", "go", "-v").err
    assert "> 1.1 hi {}" in shown
    assert "< 1.1 hi ok" in shown
    assert lovia("run", "agent.yaml", "go").err.count("\n") == 1


def test_a_large_answer_is_whole(lovia: Lovia) -> None:
    text = "0123456789" * 12_000
    lovia.agent([{"text": text}])
    assert lovia("run", "agent.yaml", "go").out == text + "\n"


@pytest.mark.parametrize("form", ["text", "json", "ndjson"])
def test_a_closed_pipe_is_quiet_and_the_run_is_saved(lovia: Lovia, form: str) -> None:
    lovia.agent([{"text": "x\n" * 30_000}])
    ran = lovia.shell(f"lovia run agent.yaml go --run-id r1 -q -o {form} | head -c 1; echo ${{PIPESTATUS[0]}}")
    assert ran.out[1:] == "0\n"
    assert ran.err == ""
    assert lovia("history", "r1", "--json").json["status"] == "completed"


def test_a_listing_into_a_closed_pipe_is_quiet(lovia: Lovia) -> None:
    lovia.agent([{"text": "x\n" * 30_000}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    assert lovia.shell("lovia show r1 | head -1; lovia history | true; lovia --help | true").err == ""


NO_ROOM = [
    "error: cannot write to stdout: No space left on device",
    "  where: what stdout leads to",
    "  hint: send the output to where there is room; what was saved is safe",
]


@pytest.mark.parametrize("help_asked", ["lovia --help", "lovia run -h"])
def test_a_help_that_cannot_be_written_is_no_mistake_of_ours(lovia: Lovia, help_asked: str) -> None:
    ran = lovia.shell(f"{help_asked} >/dev/full; echo $?")
    assert (ran.out, ran.err.splitlines()) == ("1\n", NO_ROOM)


def test_a_stdout_that_cannot_be_written_is_a_failure(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia.shell("lovia run agent.yaml go --run-id r1 >/dev/full; echo $?")
    assert ran.out == "1\n"
    assert ran.err.splitlines()[-3:] == NO_ROOM
    assert lovia("history", "r1", "--json").json["status"] == "completed"


def test_closed_streams_hurt_nothing(lovia: Lovia) -> None:
    noisy_agent(lovia)
    ran = lovia.shell("lovia run agent.yaml go --run-id r1 <&- >&- 2>&-; echo $?; lovia resume r1 2>/dev/null")
    assert ran.out == "0\nthe answer\n"


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "LANG": "C"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_c15_every_view_prints_in_a_poor_locale(lovia: Lovia, env: dict[str, str]) -> None:
    lovia.agent([{"text": "Olá 世界 👩‍👩‍👧"}])
    lovia("run", "agent.yaml", "é", "--run-id", "r1", "-s", "ü")
    for command in (["history"], ["history", "r1"], ["history", "--json"], ["show", "r1"], ["resume", "r1"]):
        ran = lovia(*command, env=env)
        assert ran.code == 0, ran
        assert b"Traceback" not in ran.stderr
    ran = lovia("resume", "r1", "--json", env=env)
    assert ran.json["output"] == "Olá 世界 👩‍👩‍👧"


# --- stdin ------------------------------------------------------------------------------------------------------------


def sent(lovia: Lovia, run_id: str = "r1") -> str:
    """The input as it is in the transcript."""
    entry = lovia("show", run_id, "--json").json["entries"][0]
    assert entry["type"] == "input"
    return str(entry["text"])


@pytest.mark.parametrize("argv", [["-"], []])
def test_stdin_is_the_input_where_it_is_asked_for_or_nothing_is_given(lovia: Lovia, argv: list[str]) -> None:
    lovia.agent([{"text": "hi"}])
    assert lovia("run", "agent.yaml", *argv, "--run-id", "r1", stdin="eins\nzwei ü\n".encode()).code == 0
    assert sent(lovia) == "eins\nzwei ü"


def test_blank_stdin_is_no_input_and_its_byte_order_mark_no_text(lovia: Lovia) -> None:
    lovia.agent([{"text": "ok"}])
    blank_argument = lovia("run", "agent.yaml", " \n ")
    assert (blank_argument.code, (lovia.folder / ".lovia").exists()) == (2, False)
    for blank in (b"", b" \t\n\n", b"\xef\xbb\xbf\n"):
        ran = lovia("run", "agent.yaml", stdin=blank)
        assert (ran.code, ran.err.splitlines()[0]) == (2, "error: no input given, and nothing to go on with")
    assert lovia("run", "agent.yaml", "--run-id", "r1", stdin=b"\xef\xbb\xbf  go\n").code == 0
    assert lovia("show", "r1", "--json").json["entries"][0]["text"] == "  go"


def test_stdin_is_left_alone_when_there_is_an_input(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia.shell("lovia run agent.yaml go -q --run-id r1; cat", stdin=b"still here")
    assert ran.out == "hi\nstill here"


def test_resume_never_reads_stdin(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    assert lovia.shell("lovia resume r1 -q; cat", stdin=b"still here").out == "hi\nstill here"


@pytest.mark.parametrize("argv", [["run", "agent.yaml", b"caf\xe9"], ["run", "agent.yaml", "-s", b"\xff", "go"]])
def test_c15_undecodable_arguments_are_a_usage_error(lovia: Lovia, argv: list[str | bytes]) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert "is not valid text" in ran.err
    assert not (lovia.folder / ".lovia").exists()


def test_c15_undecodable_stdin_is_a_usage_error(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia("run", "agent.yaml", "-", stdin=b"x\xffy")
    assert (ran.code, ran.out) == (2, "")
    assert "stdin is not valid UTF-8, from byte 1" in ran.err
    assert not (lovia.folder / ".lovia").exists()


# --- data -------------------------------------------------------------------------------------------------------------


def test_json_is_the_object_of_the_interface(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi", "usage": {"input_tokens": 3, "output_tokens": 4}}])
    data = lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1", "--json").json
    assert list(data) == KEYS
    assert data == {
        "v": 1, "run_id": "r1", "session_id": "u1", "status": "completed", "exit_code": 0, "output": "hi",
        "error": None, "approvals": [], "steps": 1, "cost_usd": None,
        "model": "scripted:agent-script.yaml", "agent": "tester",
        "replayed": False, "input_ignored": False, "forked_from": None, "store": str(lovia.folder / ".lovia"),
        "usage": {
            "input_tokens": 3, "output_tokens": 4, "cache_read_tokens": None, "cache_write_tokens": None,
            "requests": 1, "unknown": 0,
        },
    }  # fmt: skip


def test_r5_json_says_that_the_input_was_ignored(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    same = lovia("run", "agent.yaml", "go", "--run-id", "r1", "--json").json
    other = lovia("run", "agent.yaml", "other", "--run-id", "r1", "--json")
    assert (same["replayed"], same["input_ignored"]) == (True, False)
    assert (other.json["replayed"], other.json["input_ignored"]) == (True, True)
    assert "the input was ignored" in other.err


FAILURES = [
    (["run", "nowhere.yaml", "go"], 3, "agent_file"),
    (["run", "agent.yaml", "go", "--bogus"], 2, "usage"),
    (["run", "agent.yaml", "go", "--max-steps", "0"], 2, "usage"),
    (["resume", "nosuch"], 5, "run_not_found"),
    (["resume"], 2, "usage"),
]


@pytest.mark.parametrize(("argv", "code", "word"), FAILURES)
def test_json_is_one_object_on_failure_too(lovia: Lovia, argv: list[str], code: int, word: str) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia(*argv, "-o", "json")
    assert list(ran.json) == KEYS
    assert (ran.code, ran.json["exit_code"], ran.json["error"]["code"]) == (code, code, word)
    assert list(ran.json["error"]) == ["code", "message", "hint", "retryable"]


@pytest.mark.parametrize(("argv", "code", "word"), FAILURES)
def test_ndjson_starts_and_finishes_on_failure_too(lovia: Lovia, argv: list[str], code: int, word: str) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia(*argv, "-o", "ndjson")
    first, last = ran.lines
    assert (first["type"], last["type"]) == ("run.started", "run.finished")
    assert (ran.code, last["exit_code"], last["error"]["code"]) == (code, code, word)


def test_ndjson_is_the_run_event_by_event(lovia: Lovia) -> None:
    lovia.agent([call("hi"), {"text": "ok"}], tools="tools:\n" + shell_tool("hi", "echo there"))
    lines = lovia("run", "agent.yaml", "go", "--run-id", "r1", "-o", "ndjson").lines
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert all(list(line)[:5] == ["v", "seq", "ts", "run_id", "type"] for line in lines)
    assert {line["run_id"] for line in lines} == {"r1"}
    kinds = [line["type"] for line in lines if line["type"] != "run.saved"]
    assert kinds == [
        "run.started", "model.started", "model.finished", "tool.started", "tool.finished",
        "model.started", "text.delta", "model.finished", "run.finished",
    ]  # fmt: skip
    assert (lines[-1]["status"], lines[-1]["output"], lines[-1]["exit_code"]) == ("completed", "ok", 0)


def test_r6_a_replay_has_two_events(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    lines = lovia("resume", "r1", "-o", "ndjson").lines
    assert [(line["type"], line["replayed"]) for line in lines] == [("run.started", True), ("run.finished", True)]


def test_events_come_as_they_happen(lovia: Lovia) -> None:
    """The first line can be read while the run waits in its tool."""
    lovia.agent([call("hang"), {"text": "ok"}], tools="tools:\n" + shell_tool("hang", "read x < fifo"))
    os.mkfifo(lovia.folder / "fifo")
    process = lovia.start("run", "agent.yaml", "go", "-o", "ndjson")
    assert process.stdout
    seen = []
    while not seen or seen[-1] != "tool.started":
        seen.append(json.loads(process.stdout.readline())["type"])
    assert seen[0] == "run.started"
    (lovia.folder / "fifo").write_text("go\n")
    assert json.loads(process.stdout.read().splitlines()[-1])["exit_code"] == 0
    process.communicate()
