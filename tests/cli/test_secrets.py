"""X11: what a variable of the environment holds is in nothing that is printed, and only its name is stored."""

from __future__ import annotations

import json

import pytest

from lovia_cli import Agent, CheckpointOptions, InMemoryCheckpointer, InMemorySession, Runner
from lovia_cli.cli.listed import Transcript
from lovia_cli.cli.redacting import Redactor
from lovia_cli.cli.secrets import Secrets, secret_variables
from lovia_cli.comparing.marks import Difference
from lovia_cli.engine.events import Event
from lovia_cli.models.scripted import ScriptedModel
from lovia_cli.render.hiding import Hiding
from tests.cli.lovia import Lovia, Ran, call, shell_tool

VALUE = 'tok"42/x y'
ENV = {"MY_VALUE": VALUE, "LOVIA_AGENT": "agent.yaml"}
FORMS = (VALUE, json.dumps(VALUE)[1:-1], json.dumps(json.dumps(VALUE)[1:-1])[1:-1], "tok%2242")
TOOLS = """\
tools:
  - type: shell
    name: look
    description: Say it.
    command: [sh, -c, 'printf "got %s\\n" "$T"; printf "%s" "$T" >&2; exit 1']
    args: {q: {type: string}}
    env: {T: "${env.MY_VALUE}"}
  - ./tools.py:fail
"""
FAILS = """\
import os

def fail() -> str:
    print("printed " + os.environ["MY_VALUE"])
    raise RuntimeError("cannot log in with " + os.environ["MY_VALUE"])
"""
TURNS = [
    {
        "reasoning": f"hm {VALUE}",
        "text": f"so {VALUE}",
        "tool_calls": call("look", {"q": VALUE})["tool_calls"],
    },
    call("fail"),
    {"text": f"it is {VALUE}", "chunks": 12},
]
READING = [
    ["show", "r1"], ["show", "r1", "--raw"], ["show", "s1"], ["show", "r2"], ["history"], ["history", "r2"],
    ["history", "s1"], ["history", "--tree"], ["compare", "r1", "r2"], ["compare", "r1", "r1.fork-1"],
    ["compare", "r1", "r2", "--html", "page.html"], ["replay", "r1"], ["replay", "r1", "--agent", "other.yaml"],
    ["resume", "r1"], ["run", "again", "--run-id", "r1", "-s", "s1"], ["resume", "r2", "--debug"],
    ["export", "r1"], ["export", "s1", "--format", "md"], ["export", "r2", "--format", "html"],
]  # fmt: skip
"""Views of a completed run in a session, a failed one and a fork."""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Lovia:
    lovia = Lovia(tmp_path_factory.mktemp("used"))
    lovia.write("tools.py", FAILS)
    lovia.agent(TURNS, tools=TOOLS)
    lovia.agent([{"text": "x", "fail": {"status": 400, "message": f"bad {VALUE}"}}], name="bad.yaml", tools=TOOLS)
    lovia.agent(TURNS, name="other.yaml", tools=TOOLS, more=f"instructions: 'be {VALUE}'")
    return lovia


def clean(ran: Ran, *, named: bool = True) -> Ran:
    """What was shown has the value in none of its forms, and its name in its place."""
    assert not [form for form in FORMS if form in ran.out + ran.err], ran
    assert ("[MY_VALUE]" in ran.out + ran.err) >= named, ran
    return ran


@pytest.fixture(scope="module")
def ran(used: Lovia) -> dict[str, Ran]:
    """The runs that all views are of, in all three formats."""
    text = used("run", "go", "-vv", "--run-id", "r1", "-s", "s1", env=ENV)
    bad = used("run", "bad.yaml", f"go {VALUE}", "--run-id", "r2", "--json", env=ENV)
    events = used("run", "go", "--run-id", "r3", "-o", "ndjson", env=ENV)
    used("fork", "r1", "--from-step", "1", "--tool-result", "1.1=" + json.dumps(f"or {VALUE}"), env=ENV)
    return {"text": text, "json": bad, "ndjson": events}


def test_x11_a_run_hides_it_in_text_json_and_events(used: Lovia, ran: dict[str, Ran]) -> None:
    text = clean(ran["text"])
    assert (text.code, text.out) == (0, "it is [MY_VALUE]\n")
    for line in ("printed [MY_VALUE]", "reasoning: hm [MY_VALUE]", "cannot log in with [MY_VALUE]"):
        assert line in text.err
    assert clean(ran["json"]).json["error"]["message"].endswith("bad [MY_VALUE]")
    lines = clean(ran["ndjson"]).lines
    finished = [line for line in lines if line["type"] == "tool.finished"]
    assert "got [MY_VALUE]" in finished[0]["output"]
    assert "".join(line["text"] for line in lines if line["type"] == "text.delta") == "so [MY_VALUE]it is [MY_VALUE]"
    [asked] = [line for line in lines if line["type"] == "tool.started" and line["name"] == "look"]
    assert json.loads(asked["arguments"]) == {"q": "[MY_VALUE]"}


@pytest.mark.parametrize("output", ["text", "json", "ndjson"])
@pytest.mark.parametrize("argv", READING, ids=" ".join)
def test_x11_every_view_hides_it(used: Lovia, ran: dict[str, Ran], argv: list[str], output: str) -> None:
    is_named = argv[0] != "history" and "other.yaml" not in argv  # those show texts of the run itself
    shown = clean(used(*argv, "-o", output, env=ENV), named=is_named and "--html" not in argv)
    if output != "text":
        assert shown.lines, shown
    if "--html" in argv:
        page = (used.folder / "page.html").read_text()
        assert "[MY_VALUE]" in page
        assert not [form for form in ("tok&quot;42", *FORMS) if form in page]


def test_x11_the_store_has_the_name_alone_in_its_config_and_what_a_tool_said_exactly(
    used: Lovia, ran: dict[str, Ran]
) -> None:
    export = [json.loads(line) for line in used("export", "r1").out.splitlines()]  # without the variable: as stored
    assert export[0]["head"]["config"]["agent_environment"] == ["MY_VALUE"]
    assert VALUE not in json.dumps(export[0]["head"]["config"], ensure_ascii=False).replace("\\", "")
    assert f"got {VALUE}" in used("show", "r1").out


@pytest.mark.anyio
async def test_a_config_of_ones_own_is_kept_beside_the_names() -> None:
    agent = Agent(name="a", model=ScriptedModel(["hi"]), environment=["X"])
    result = await Runner.run(agent, "go", config={"environment": ["staging"]})
    assert result.snapshot is not None
    kept = {"environment": ["staging"], "agent_environment": ["X"], "variables": {}}
    assert result.snapshot.head.config == kept


@pytest.mark.anyio
async def test_x11_a_run_tells_which_variables_it_may_quote_before_anything_else_of_it() -> None:
    session, store, told = InMemorySession(), InMemoryCheckpointer(), []

    async def run(run_id: str, *names: str) -> list[object]:
        told.clear()
        agent = Agent(name="a", model=ScriptedModel(["hi"]), environment=names)
        place = {"session": session, "session_id": "s1", "checkpoint": CheckpointOptions(store, run_id)}
        heard = {"learn": lambda given: told.append(set(given)), "on_event": lambda event: told.append(event.type)}
        await Runner.run(agent, "go", **place, **heard)
        return told[:2]

    assert await run("r1", "X") == [{"X"}, "run.started"]
    assert await run("r2", "Y") == [{"X", "Y"}, "run.started"]
    assert await run("r2", "Z") == [{"X", "Y", "Z"}, "run.started"], "a replay"


def test_x11_a_run_that_goes_on_in_a_session_that_has_changed_hides_what_came_in_between(lovia: Lovia) -> None:
    in_session = ("go", "-s", "s1", "--run-id")
    lovia.agent([{"text": "", "fail": {"status": 400, "message": "no"}}])
    assert lovia("run", "agent.yaml", *in_session, "r1").code == 1
    tool = shell_tool("look", "echo $T").replace("}\n", ', env: {T: "${env.MY_VALUE}"}}\n')
    lovia.agent([call("look"), {"text": "done"}], tools="tools:\n" + tool, name="beside.yaml")
    assert lovia("run", "beside.yaml", *in_session, "r2", env=ENV).code == 0
    lovia.agent([{"text": f"it was {VALUE}"}])
    assert clean(lovia("resume", "r1", env=ENV)).out == "it was [MY_VALUE]\n"
    assert "it was [MY_VALUE]" in clean(lovia("show", "r1", env=ENV)).out


GOING_ON = [
    ["run", "agent.yaml", "more", "-s", "s1"],
    ["run", "agent.yaml", "go", "-s", "s1", "--run-id", "r1"],
    ["resume", "r2"],
    ["fork", "r1", "--from-step", "1", "--run"],
]


@pytest.mark.parametrize("argv", GOING_ON, ids=lambda argv: argv[0] + argv[-1])
def test_x11_what_goes_on_hides_what_an_earlier_agent_file_named(lovia: Lovia, argv: list[str]) -> None:
    tools = "tools:\n" + shell_tool("look", "echo no secret").replace("}\n", ', env: {T: "${env.MY_VALUE}"}}\n')
    quotes, fails = {"text": f"it was {VALUE}"}, {"text": "", "fail": {"status": 400, "message": "no"}}
    in_session = "r1" not in argv  # then its finished run, whose checkpoint is gone, has called the tool
    lovia.agent([call("look"), quotes if in_session else fails], tools=tools)
    start = ["run", "agent.yaml", "go", "-s", "s1", "--run-id", "r1", "--delete-on-success"]
    assert (lovia(*start, env=ENV).code == 0) == in_session
    tools = tools.partition(", env:")[0] + "}\n"
    if argv[0] == "resume":
        lovia.agent([fails], tools=tools)
        assert lovia("run", "agent.yaml", "go", "-s", "s1", "--run-id", "r2").code != 0
    lovia.agent([quotes] if in_session else [call("look"), quotes], tools=tools)
    assert clean(lovia(*argv, env=ENV)).out.endswith("it was [MY_VALUE]\n")
    assert "it was [MY_VALUE]" in clean(lovia("show", "--last", env=ENV)).out  # its run knows the name from now on


@pytest.mark.parametrize(
    "argv", [["run", "agent.yaml", "go"], ["run", "agent.yaml", "go", "--dry-run"], ["validate", "agent.yaml"]]
)
def test_x11_a_module_of_tools_that_quotes_it_is_refused_without_it(lovia: Lovia, argv: list[str]) -> None:
    lovia.write("tools.py", 'import os\nraise ValueError(os.environ["MY_VALUE"])\n')
    lovia.agent([{"text": "hi"}], tools=TOOLS)
    for options in ([], ["--json"], ["--debug"]):
        assert clean(lovia(*argv, *options, env=ENV)).code == 3


def test_x11_a_secret_that_is_a_word_of_the_format_or_an_id_changes_neither(lovia: Lovia) -> None:
    words = ("completed", "assistant_text", "tool_call", "run.finished", "output", "text", "look", "run-2024", "tester")
    env = {f"V{number}": word for number, word in enumerate(words)}
    tool = shell_tool("look", "echo completed run-2024").removesuffix("}\n")
    named = ", ".join(f'{name}: "${{env.{name}}}"' for name in env)
    lovia.agent([call("look"), {"text": "completed"}], tools=f"tools:\n{tool}, env: {{{named}}}}}\n")
    done = lovia("run", "agent.yaml", "go", "--run-id", "run-2024", "-o", "ndjson", env=env)
    last = done.lines[-1]
    assert (last["type"], last["status"], last["output"], last["agent"]) == (
        "run.finished",
        "completed",
        "[V0]",
        "tester",
    )
    assert {line["run_id"] for line in done.lines} == {"run-2024"}
    assert [line["name"] for line in done.lines if line["type"] == "tool.finished"] == ["look"]
    told = lovia("show", "run-2024", "--json", env=env).json
    assert (told["status"], told["run_id"], told["output"]) == ("completed", "run-2024", "[V0]")
    asked, got, said = told["entries"][-3:]
    assert (asked["type"], asked["name"], got["output"]) == ("tool_call", "look", "[V0] [V7]\n")
    assert (said["type"], said["text"]) == ("assistant_text", "[V0]")
    assert lovia("history", env=env).out.split("\n")[1].split()[1:3] == ["run-2024", "completed"]


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_a_value_in_pieces_is_seen_before_any_of_it_is_shown(size: int) -> None:
    hiding = Hiding(Redactor({"A": "secret-1", "B": "crets", "C": "aab", "D": "xse"}, shapes=False))
    text = "a secret-1, sec, aaab secrets xsecret-9 secret-"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [Event("text.delta", "r", 1.0, {"step": 1, "text": piece}) for piece in pieces]
    shown = [one for event in [*events, Event("run.saved", "r", 2.0)] for one in hiding.events(event)]
    assert "".join(one.data.get("text", "") for one in shown) == "a [A], sec, a[C] se[B] [D]cret-9 secret-"
    assert all(one.data["text"] for one in shown[:-1])
    assert shown[-1].type == "run.saved"  # of the response: all of its text has been seen before


def test_nothing_is_held_of_an_answer_that_is_asked_for_again() -> None:
    hiding = Hiding(Redactor({"A": "secret-1"}, shapes=False))
    kinds = [
        ("text.delta", "sec"),
        ("model.retry", ""),
        ("text.delta", "ret-1"),
        ("reasoning.delta", "sec"),
        ("text.delta", "x"),
    ]
    shown = [one for kind, text in kinds for one in hiding.events(Event(kind, "r", 1.0, {"text": text}))]
    told = [(one.type, one.data["text"]) for one in shown if one.type != "model.retry"]
    assert told == [("text.delta", "ret-1"), ("reasoning.delta", "sec"), ("text.delta", "x")]


def test_a_number_is_hidden_as_somebodys_value_and_stays_as_the_formats() -> None:
    redactor = Redactor({"PIN": "1234", "RATE": "0.75"}, shapes=False)
    assert redactor.json({"pin": 1234, "m": [0.75, 12345, True]}) == {"pin": "[PIN]", "m": ["[RATE]", 12345, True]}
    config = {"variables": {"pin": 1234}, "limits": {"max_steps": 1234}}
    head = {"steps": 1234, "at": 0.75, "usage": {"n": 1234}, "state": {"n": [1234]}, "output": 1234, "config": config}
    hidden = {"state": {"n": ["[PIN]"]}, "output": "[PIN]", "config": config | {"variables": {"pin": "[PIN]"}}}
    assert redactor.export({"v": 1234, "head": head}) == {"v": 1234, "head": head | hidden}
    hiding = Hiding(redactor)
    [event] = hiding.events(Event("run.finished", "r", 1.0, head))
    assert event.data == head | hidden
    assert hiding.shown([Difference("n", "changed", 1234, 5)]) == [("n", "changed", "[PIN]", 5)]
    shown = hiding.shown(Transcript(store="x", items=[], output=1234, exit_code=1234))
    assert (shown.output, shown.exit_code) == ("[PIN]", 1234)


def test_which_variables_are_secret() -> None:
    secret = ("API_KEY", "apikey", "SHOP_TOKEN", "DB_PASSWORD2", "KEYS", "MY_PAT_OLD", "key2x", "X_CREDENTIALS", "PASS")
    other = ("PATH", "KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM", "COMPASS", "", "_", "SSH_AUTH_SOCK")
    environ = dict.fromkeys((*secret, *other), "12345678")
    assert sorted(secret_variables(environ)) == sorted(secret)
    assert secret_variables({"KEY": " 1234567 "}) == {}
    secrets = Secrets({"KEY": "12345678", "A": "four", "B": "not", "C": "True", "D": "other"})
    assert secrets.text("12345678 four other") == "[KEY] four other"
    secrets.learn(["A", "B", "C", "gone"])
    assert secrets.text("12345678 four not True other") == "[KEY] [A] not True other"
    assert Secrets({"A": "four", "PATH": "/usr/local/bin"}).redactor is None
