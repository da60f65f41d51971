"""Text from models, tools, people and ids is data: no sequence and no markup of it does anything to a terminal."""

import json

import pytest

from tests.cli.lovia import Lovia, Ran, call

EVIL = "a\x1b]0;title\x07b\x1b[2K\rALL OK\x9b31mc\x85d\u202etxt.exe\u2066e\x00f\x08g\x7fh\u2028i"
MARKUP = "see [/tmp] now [error] disk full, list[int] :smile: [bold]x[/bold] 100% {x} %s"


def evil_agent(lovia: Lovia, text: str) -> None:
    say = f'def say() -> str:\n    "Say it."\n    return {text!r}\n'
    fail = f'def fail() -> str:\n    "Fail."\n    raise ValueError({text!r})\n'
    lovia.write("tools.py", f"{say}\n\n{fail}")
    turns = [
        {"reasoning": text, "text": text, "tool_calls": [{"id": text, "name": "say", "arguments": "{}"}]},
        call("fail", id=text),
        call(text, id="c3"),
        {"text": text},
    ]
    lovia.agent(turns, tools="tools: [./tools.py:say, ./tools.py:fail]")


def views(lovia: Lovia, text: str) -> list[Ran]:
    """Every human view of a run that is full of ``text``."""
    safe_id = "".join(char for char in text if char.isprintable() or char in "\u202e\u2066")
    return [
        lovia("run", "agent.yaml", text, "--run-id", safe_id, "-s", "s" + safe_id, "-vv"),
        lovia("run", "agent.yaml", text + "!", "--run-id", safe_id),
        lovia("history"),
        lovia("history", safe_id),
        lovia("history", "s" + safe_id),
        lovia("show", safe_id),
        lovia("show", "s" + safe_id),
        lovia("show", safe_id, "--raw"),
        lovia("show", safe_id, "--call", "1.1"),
        lovia("resume", safe_id),
        lovia("resume", "nosuch" + safe_id),
        lovia("cancel", safe_id),
        lovia("run", text + ".yaml", "go"),
        lovia("validate", safe_id + ".yaml"),
        lovia(text),
        lovia("run", "--" + text),
        lovia("run", "agent.yaml", "go", "-o", text),
        lovia("run", "agent.yaml", "go", "-p", text),
        lovia("history", "--store", safe_id),
    ]


def test_x3_no_control_sequence_reaches_a_terminal(lovia: Lovia) -> None:
    text = EVIL.replace("\x00", "")  # no argument can hold a NUL
    evil_agent(lovia, text)
    for ran in views(lovia, text):
        for stream in (ran.out, ran.err):
            assert not [char for char in stream if char != "\n" and not char.isprintable()], ran


def test_x3_the_sequences_are_visible(lovia: Lovia) -> None:
    lovia.agent([{"text": EVIL}])
    ran = lovia("run", "agent.yaml", "go")
    assert ran.out == (
        "a\\x1b]0;title\\x07b\\x1b[2K\\rALL OK\\x9b31mc\\x85d\\u202etxt.exe\\u2066e\\x00f\\x08g\\x7fh\\u2028i\n"
    )


def test_x3_json_and_the_store_are_exact(lovia: Lovia) -> None:
    evil_agent(lovia, EVIL)
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1", "--json")
    assert ran.json["output"] == EVIL
    shown = lovia("show", "r1", "--json").json["entries"]
    assert next(entry["output"] for entry in shown if entry["type"] == "tool_result") == EVIL
    raw = [json.loads(line) for line in lovia("show", "r1", "--raw").out.splitlines()]
    assert raw == shown


def test_x1_markup_is_text(lovia: Lovia) -> None:
    evil_agent(lovia, MARKUP)
    ran = views(lovia, MARKUP)
    assert ran[0].out == MARKUP + "\n"
    assert all("Traceback" not in one.err for one in ran)
    assert all(MARKUP in one.out + one.err for one in ran)


def test_a_python_error_of_ours_is_no_traceback_without_debug(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    quiet, loud = lovia("resume", "nosuch"), lovia("resume", "nosuch", "--debug")
    assert "Traceback" not in quiet.err
    assert "Traceback" in loud.err


@pytest.mark.parametrize("where", ["before", "after"])
def test_global_options_stand_before_or_after_the_verb(lovia: Lovia, where: str) -> None:
    lovia.agent([{"text": "hi"}])
    options = ["--store", "elsewhere", "-o", "json", "-q"]
    words = ["run", "agent.yaml", "go"]
    ran = lovia(*options, *words) if where == "before" else lovia(*words, *options)
    assert ran.json["store"] == str(lovia.folder / "elsewhere")
    assert ran.err == ""
