"""``lovia run`` without an input at a terminal: one run a message, until Ctrl-D."""

import signal
from typing import Any

import pytest

from tests.cli.lovia import Lovia, call, shell_tool
from tests.cli.terminal import CTRL_C, CTRL_D, ENTER, Seen, at_terminal

YOU = "you> "


def answering(lovia: Lovia) -> None:
    """Answers what it knows, and calls a tool that hangs the first time when told to."""
    lovia.write(
        "agent-script.yaml",
        """
loop: true
turns:
  - cases:
      - {when: "cancelled|Cancelled", text: Then not.}
      - {when: waited, text: That was long.}
      - {when: wait, tool_calls: [{name: hang, arguments: {}}]}
      - {when: hello, text: Yes?}
      - {when: break, fail: {status: 400, message: broken}}
      - {text: Yes?}
""",
    )
    hang = shell_tool("hang", "[ -e begun ] || { touch begun; sleep 60; }; echo waited")
    lovia.write("agent.yaml", f"version: 1\nname: tester\nmodel: scripted:agent-script.yaml\ntools:\n{hang}")


def talk(lovia: Lovia, *typed: Any, argv: tuple[str, ...] = ("agent.yaml", "-s", "u1")) -> Seen:
    steps = [step if isinstance(step, tuple) else (YOU, step) for step in typed]
    return at_terminal(lovia, "run", *argv, "--no-color", steps=steps)


def inputs(lovia: Lovia, session: str = "u1") -> list[str]:
    entries = lovia("show", f"session:{session}", "--json").json["entries"]
    return [entry["text"] for entry in entries if entry["type"] == "input"]


def test_each_message_is_a_run_of_the_session_until_ctrl_d(lovia: Lovia) -> None:
    answering(lovia)
    seen = talk(lovia, "hello" + ENTER, "again" + ENTER, CTRL_D)
    assert seen.code == 0
    assert seen.text.count("Yes?\n") == 2
    assert seen.lines[0] == "session u1 (0 finished runs); Ctrl-C stops a run, Ctrl-D ends the conversation"
    assert seen.lines[-1] == "go on with: lovia run --session u1"
    assert inputs(lovia) == ["hello", "again"]
    assert len(lovia("history", "u1", "--json").json["segments"]) == 2
    assert "session u1 (2 finished runs)" in talk(lovia, CTRL_D, argv=("--session", "u1")).lines[0]


def test_without_a_session_one_is_made_up_and_named(lovia: Lovia) -> None:
    answering(lovia)
    seen = talk(lovia, "hello" + ENTER, CTRL_D, argv=("agent.yaml",))
    session = seen.lines[0].split()[1]
    assert seen.lines[-1] == f"go on with: lovia run --session {session}"
    assert inputs(lovia, session) == ["hello"]


def test_who_says_nothing_leaves_nothing(lovia: Lovia) -> None:
    answering(lovia)
    seen = talk(lovia, ENTER, "  " + ENTER, CTRL_D)
    assert (seen.code, "go on with" in seen.text) == (0, False)
    assert not (lovia.folder / ".lovia").exists()


@pytest.mark.parametrize("pasted", ["\x1b[200~one\ntwo\x1b[201~" + ENTER, "one" + ENTER + "two" + ENTER])
def test_what_is_pasted_is_one_message(lovia: Lovia, pasted: str) -> None:
    answering(lovia)
    talk(lovia, pasted, CTRL_D)
    assert inputs(lovia) == ["one\ntwo"]


def test_k2_ctrl_c_stops_the_run_and_what_is_said_next_goes_to_it(lovia: Lovia) -> None:
    answering(lovia)
    seen = talk(lovia, "wait" + ENTER, ("1.1 hang 1 s", CTRL_C), "leave it" + ENTER, CTRL_D)
    assert seen.code == 0
    stopped = seen.lines.index("interrupted: stopped by SIGINT")
    assert seen.lines[stopped + 2] == "  hint: say something to it, or press Enter to let it go on as it is"
    assert "--debug" not in seen.text
    assert inputs(lovia) == ["wait", "leave it"]
    assert len(lovia("history", "u1", "--json").json["segments"]) == 1
    results = [entry for entry in lovia("show", "u1", "--json").json["entries"] if entry["type"] == "tool_result"]
    assert [entry["kind"] for entry in results] == ["cancelled"]


def test_k2_an_empty_line_lets_a_stopped_run_go_on_also_later(lovia: Lovia) -> None:
    answering(lovia)
    talk(lovia, "wait" + ENTER, ("1.1 hang 1 s", CTRL_C), CTRL_D)
    seen = talk(lovia, ENTER, CTRL_D)
    assert "is interrupted after step 1: say something to it, or press Enter" in seen.lines[1]
    assert "That was long." in seen.lines
    assert inputs(lovia) == ["wait"]


def test_a_failed_run_is_not_the_end(lovia: Lovia) -> None:
    answering(lovia)
    seen = talk(lovia, "break" + ENTER, "hello" + ENTER, CTRL_D)
    assert seen.code == 0
    assert "broken" in seen.text
    assert "Yes?" in seen.lines


def test_ctrl_c_at_the_prompt_drops_the_line_and_twice_ends(lovia: Lovia) -> None:
    answering(lovia)
    seen = talk(lovia, "never sent" + CTRL_C, "hello" + ENTER, CTRL_C, CTRL_C)
    assert seen.code == 130
    assert seen.lines[-1] == "go on with: lovia run --session u1"
    assert inputs(lovia) == ["hello"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_prompt_gives_the_terminal_back_and_says_how_to_go_on(
    lovia: Lovia, number: signal.Signals
) -> None:
    answering(lovia)
    seen = talk(lovia, "hello" + ENTER, "par", ("par", number))
    assert (seen.code, seen.is_restored) == (128 + number, True)
    assert seen.lines[-1] == "go on with: lovia run --session u1"


def test_what_is_wrong_with_the_agent_is_said_before_anybody_types(lovia: Lovia) -> None:
    lovia.write("agent.yaml", "version: 1\nname: x\nmodel: scripted:nowhere.yaml\n")
    seen = talk(lovia)
    assert (seen.code, YOU in seen.text) == (3, False)


@pytest.mark.parametrize("more", [["--json"], ["-o", "ndjson"], ["--run-id", "r1"]])
def test_where_no_conversation_can_be_a_missing_input_is_a_usage_error(lovia: Lovia, more: list[str]) -> None:
    lovia.agent([{"text": "hi"}])
    seen = at_terminal(lovia, "run", "agent.yaml", *more)
    assert (seen.code, "no input given" in seen.text) == (2, True)


def test_a_dry_run_of_a_conversation_says_what_its_first_message_would_do(lovia: Lovia) -> None:
    lovia.agent([call("hang")], tools="tools:\n" + shell_tool("hang", "echo"))
    seen = at_terminal(lovia, "run", "agent.yaml", "-s", "u1", "--dry-run")
    start = "would begin a conversation; its first message would start a new run in session u1, after 0 finished runs"
    assert (seen.code, "".join(seen.lines)[: len(start)]) == (0, start)
    assert not (lovia.folder / ".lovia").exists()
