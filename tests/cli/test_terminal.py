"""A run as it looks to a person at a terminal: streamed, with its tools, what takes long, and what came out."""

import json
import os
import re
from collections.abc import Iterator

import pytest

from tests.cli.lovia import Lovia, call, shell_tool
from tests.cli.terminal import CTRL_C, at_terminal

LOOK = "tools:\n" + shell_tool("look", "echo seen")


def timeless(text: str) -> str:
    """``text`` with N for every number of seconds."""
    return re.sub(r"\d+(\.\d)? s\b", "N s", text)


def test_tools_show_with_their_time_the_answer_once_and_what_came_out_last(lovia: Lovia) -> None:
    lovia.agent(
        [
            {**call("look"), "usage": {"input_tokens": 900, "output_tokens": 100}},
            {"text": "found it", "chunks": 3, "usage": {"input_tokens": 1200, "output_tokens": 9}},
        ],
        tools=LOOK,
    )
    seen = at_terminal(lovia, "run", "agent.yaml", "go", "--run-id", "r1", "--no-color")
    assert [timeless(line) for line in seen.lines] == [
        "run r1",
        "> 1.1 look {}",
        "< 1.1 look ok N s seen",
        "found it",
        "completed: 2 steps, 1 tool call, 2,209 tokens, N s  lovia show r1",
    ]


def test_the_last_line_takes_the_session_up_again(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    seen = at_terminal(lovia, "run", "agent.yaml", "go", "-s", "u 1", "--no-color", columns=60)
    assert timeless(seen.lines[-2]) == "completed: 1 step, 0 tool calls, N s"
    assert seen.lines[-1] == "lovia run --session 'u 1'"


def test_what_takes_long_counts_its_seconds_and_leaves_no_trace(lovia: Lovia) -> None:
    os.mkfifo(lovia.folder / "fifo")
    lovia.agent([call("slow"), {"text": "ok"}], tools="tools:\n" + shell_tool("slow", "cat fifo"))

    def steps() -> Iterator[tuple[str, str]]:
        """The tool ends when its seconds have been seen."""
        yield "1.1 slow 1 s", ""
        (lovia.folder / "fifo").write_text("enough")

    seen = at_terminal(lovia, "run", "agent.yaml", "go", "--no-color", steps=steps())
    assert [timeless(line) for line in seen.lines[1:]] == [
        "> 1.1 slow {}",
        "< 1.1 slow ok N s enough",
        "ok",
        "completed: 2 steps, 1 tool call, N s",
        f"lovia show {seen.lines[0].removeprefix('run ')}",
    ]


def test_a_model_that_takes_long_is_named(lovia: Lovia) -> None:
    lovia.agent([{"text": "ok", "delay": 60}])
    steps = [("step 1: scripted:agent-script.yaml 1 s", CTRL_C)]
    seen = at_terminal(lovia, "run", "agent.yaml", "go", "--run-id", "r1", "--no-color", steps=steps)
    assert (seen.code, seen.lines[-1]) == (130, "lovia resume r1")


@pytest.mark.parametrize("options", [["-q"], ["--json"]])
def test_quiet_and_data_have_their_answer_alone(lovia: Lovia, options: list[str]) -> None:
    lovia.agent([call("look"), {"text": "ok"}], tools=LOOK)
    seen = at_terminal(lovia, "run", "agent.yaml", "go", "--run-id", "r1", "--no-color", *options)
    if "-q" in options:
        assert seen.lines == ["ok"]
    else:
        assert [json.loads(line)["output"] for line in seen.lines if line.startswith("{")] == ["ok"]


def test_quiet_shows_an_error_and_what_to_do_all_the_same(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "ok"}], tools=LOOK)
    seen = at_terminal(lovia, "run", "agent.yaml", "go", "--run-id", "r1", "--no-color", "-q", "--max-steps", "1")
    assert seen.lines[0] == "interrupted: limit reached: max_steps is 1, used 1"
    assert seen.lines[-2:] == ["  go on with:", "lovia resume --max-steps 2 r1"]


def test_verbose_shows_saves_and_steps_and_the_answer_still_once(lovia: Lovia) -> None:
    lovia.agent(
        [{**call("look"), "usage": {"input_tokens": 900, "output_tokens": 100}}, {"text": "found it"}], tools=LOOK
    )
    seen = at_terminal(lovia, "run", "agent.yaml", "go", "--run-id", "r1", "--no-color", "-v")
    assert [timeless(line) for line in seen.lines] == [
        "run r1",
        "saved 2 (step 1, response)",
        "step 1: scripted:agent-script.yaml, N s, 900 + 100 tokens, tool_calls",
        "> 1.1 look {}",
        "saved 3 (step 1, result)",
        "< 1.1 look ok N s seen",
        "found it",
        "saved 4 (step 2, response)",
        "step 2: scripted:agent-script.yaml, N s, stop",
        "saved 5 (step 2, completed)",
        "completed: 2 steps, 1 tool call, at least 1,000 tokens, N s  lovia show r1",
    ]


def test_twice_verbose_shows_reasoning_too(lovia: Lovia) -> None:
    lovia.agent([{"reasoning": "One.\nTwo\x1b.", "text": "so", "chunks": 4}])
    seen = at_terminal(lovia, "run", "agent.yaml", "go", "--run-id", "r1", "--no-color", "-vv")
    assert seen.lines[1:4] == ["reasoning: One.", "reasoning: Two\\x1b.", "so"]
    assert "reasoning" not in at_terminal(lovia, "run", "agent.yaml", "go", "-v").text


def test_a_terminal_is_shown_no_sequence_but_ours(lovia: Lovia) -> None:
    lovia.agent([{"text": "a\x1b[2Jb\x9bc", "chunks": 5}])
    plain = at_terminal(lovia, "run", "agent.yaml", "go", "--no-color").text
    assert "\x1b" not in plain
    assert "a\\x1b[2Jb\\x9bc\n" in plain
    assert "\x1b[2m" in at_terminal(lovia, "run", "agent.yaml", "go").text
    assert "\x1b" not in at_terminal(lovia, "run", "agent.yaml", "go", env={"TERM": "dumb"}).text
    assert "\x1b" not in at_terminal(lovia, "run", "agent.yaml", "go", env={"NO_COLOR": "1"}).text


# --- listings ---------------------------------------------------------------------------------------------------------


def listed(lovia: Lovia) -> None:
    long = "a-session-with-quite-a-long-name-" + "x" * 60
    lovia.agent([call("look"), {"text": "word " * 60}], tools=LOOK)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", long)
    lovia("run", "agent.yaml", "go", "--run-id", "01a2286c-d4e4-7036-ac9f-43d6204cb702", "--max-steps", "1")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_listing_fits_and_is_one_record_a_line(lovia: Lovia, columns: int) -> None:
    listed(lovia)
    seen = at_terminal(lovia, "history", "--no-color", columns=columns)
    assert len(seen.lines) == 4
    assert max(map(len, seen.lines)) <= columns
    assert [line.split()[1 if columns > 40 else 0][:8] for line in seen.lines[1:]] == ["01a2286c", "a-sessio", "r1"]
    assert "interrupted" in seen.lines[1]
    if columns > 40:
        assert [line.split()[0] for line in seen.lines[1:]] == ["run", "session", "run"]
        assert "01a2286c-d4e4-7036-ac9f-43d6204cb702" in seen.lines[1]
        assert re.search(r"\d+ s ago|\d min ago", seen.lines[1])
    assert ("SESSION" in seen.lines[0]) == (columns == 200)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_transcript_is_broken_between_words(lovia: Lovia, columns: int) -> None:
    listed(lovia)
    lines = at_terminal(lovia, "show", "r1", "--no-color", columns=columns).lines
    answer = lines[lines.index("--- step 2 ---") + 1 :]
    assert answer[0].startswith("assistant: word word")
    assert all(len(line) <= min(columns, 120) and line.endswith("word") for line in answer)
    assert all(line.startswith("    word") for line in answer[1:])
    assert " ".join(answer).count("word") == 60
