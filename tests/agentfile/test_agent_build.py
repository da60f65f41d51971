"""From an agent file to the agent that runs."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lovia_cli.agent import Agent, Limits
from lovia_cli.agentfile import build_agent, load_agent_file
from lovia_cli.errors import AgentFileError, CredentialsError
from lovia_cli.models.base import Model
from lovia_cli.models.scripted import ScriptedModel
from lovia_cli.models.spec import ModelSpec
from lovia_cli.tools.base import ToolContext

HEAD = "name: bot\nmodel: scripted:s.yaml\n"
TOOLS = '''\
def look(city: str) -> str:
    """Look at a city."""
    return city


def charge(amount: int) -> int:
    return amount
'''


def scripted(spec: ModelSpec, folder: Path) -> Model:
    return ScriptedModel.from_file(spec.name, base_dir=folder)


def refused(spec: ModelSpec, folder: Path) -> Model:
    raise CredentialsError("no key")


MODELS = {"scripted": scripted, "refused": refused}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text("turns: [{text: hi}]")
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


def build(folder: Path, text: str, **options: Any) -> Agent:
    (folder / "agent.yaml").write_text(text, encoding="utf-8")
    return build_agent(load_agent_file(folder / "agent.yaml"), models=MODELS, **options)


def faults(folder: Path, text: str, **options: Any) -> list[str]:
    with pytest.raises(AgentFileError) as caught:
        build(folder, text, **options)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


def test_the_agent_has_what_the_file_says(folder: Path) -> None:
    agent = build(
        folder,
        f"{HEAD}description: d\ninstructions: Be kind.\nlimits: {{max_steps: 3, max_tool_calls: 0}}\n"
        "tool_concurrency: 2\nhistory_limit: 0\non_drift: error\nmodel_settings: {temperature: 0}\n"
        "tools:\n"
        "  - ./tools.py:look\n"
        "  - {type: python, function: ./tools.py:charge, name: pay, on_resume: fail, timeout: 5}\n"
        "  - {type: shell, name: say, description: Say it., command: [echo, '${args.x}'],\n"
        "     args: {x: {type: string}, n: {type: integer, default: 1}}, timeout: null}\n",
    )
    assert (agent.name, agent.description, agent.model.id) == ("bot", "d", "scripted:s.yaml")
    assert agent.render_instructions({}) == "Be kind."
    assert agent.limits == Limits(max_steps=3, max_tool_calls=0)
    assert (agent.tool_concurrency, agent.on_drift, agent.model_settings) == (2, "error", {"temperature": 0})
    assert agent.history_limit == 0
    assert [(tool.spec.name, tool.spec.description, tool.timeout, tool.on_resume) for tool in agent.tools] == [
        ("look", "Look at a city.", 120.0, "rerun"), ("pay", "", 5.0, "fail"), ("say", "Say it.", None, "rerun"),
    ]  # fmt: skip
    assert agent.tools[2].spec.parameters["required"] == ["x"]


@pytest.mark.anyio
async def test_a_shell_tool_gets_the_environment_it_names(folder: Path) -> None:
    text = f"{HEAD}tools:\n  - {{type: shell, name: t, command: [printenv, TOKEN], env: {{TOKEN: 'a ${{env.T}} b'}}}}\n"
    agent = build(folder, text, environ={"T": "${env.X} s3cret"})
    context = ToolContext(
        run_id="r", session_id=None, agent="bot", step=1, position=1, call_id="c", idempotency_key="r/1.1"
    )
    assert (await agent.tools[0].call({}, context)).strip() == "a ${env.X} s3cret b"


@pytest.mark.anyio
async def test_a_shell_tool_runs_where_the_file_says(folder: Path) -> None:
    (folder / "sub").mkdir()
    agent = build(folder, f"{HEAD}tools:\n  - {{type: shell, name: t, command: [pwd, -P], cwd: sub}}\n")
    context = ToolContext(
        run_id="r", session_id=None, agent="bot", step=1, position=1, call_id="c", idempotency_key="r/1.1"
    )
    assert (await agent.tools[0].call({}, context)).strip() == str((folder / "sub").resolve())


def test_an_unset_environment_variable_is_named_with_its_place(folder: Path) -> None:
    text = f"{HEAD}tools:\n  - {{type: shell, name: t, command: [x], env: {{A: '${{env.NOPE}}'}}}}\n"
    assert faults(folder, text, environ={}) == [
        "agent.yaml:4:51: the environment variable NOPE is not set (set it: export NOPE=...)"
    ]


def test_the_model_given_now_takes_the_place_of_the_files(folder: Path) -> None:
    (folder / "other.yaml").write_text("turns: [{text: ho}]")
    text = "name: bot\nmodel: nowhere:x\n"
    assert build(folder, text, model=ModelSpec("scripted", "other.yaml")).model.id == "scripted:other.yaml"
    assert faults(folder, text, model=ModelSpec("scriptd", "x")) == [
        "--model: unknown model provider 'scriptd' (did you mean 'scripted'?)"
    ]


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("scriptd:s.yaml", "agent.yaml:2:8: unknown model provider 'scriptd' (did you mean 'scripted'?)"),
        ("{provider: zzz, name: x}", "agent.yaml:2:19: unknown model provider 'zzz' (known: refused, scripted)"),
        ("scripted:no.yaml", "agent.yaml:2:8: cannot read the file: no such file or directory (no.yaml) "
         "(check the path)"),
        ("scripted:bad.yaml", "bad.yaml:1:10: unknown key 'txt' in a turn (did you mean 'text'?)"),
    ],
)  # fmt: skip
def test_a_model_that_cannot_be_built(folder: Path, model: str, fault: str) -> None:
    (folder / "bad.yaml").write_text("turns: [{txt: hi}]")
    assert faults(folder, f"name: bot\nmodel: {model}\n") == [fault]


def test_missing_credentials_stay_what_they_are(folder: Path) -> None:
    with pytest.raises(CredentialsError):
        build(folder, "name: bot\nmodel: refused:x\n")


def test_every_tool_that_cannot_be_built_is_reported(folder: Path) -> None:
    text = (
        f"{HEAD}tools:\n  - ./tools.py:lok\n  - {{type: python, function: ./no.py:f}}\n"
        "  - {type: shell, name: t, command: [echo, '${args.zz}']}\n"
    )
    found = faults(folder, text)
    assert [fault.split(": ")[0] for fault in found] == ["agent.yaml:4:5", "agent.yaml:5:5", "agent.yaml:6:44"]
    assert "look" in found[0]
    assert "${args.zz}" in found[2]


def test_two_tools_of_one_name(folder: Path) -> None:
    text = f"{HEAD}tools:\n  - ./tools.py:look\n  - ./tools.py:charge\n  - {{type: shell, name: look, command: [x]}}\n"
    assert faults(folder, text) == [
        "agent.yaml:6:5: a second tool is named 'look', the first is on line 4 (give one of them another 'name')"
    ]


PARAMETERS = """\
parameters:
  city: {enum: [Lisbon, 012]}
  days: {type: integer, default: 3}
  ratio: {type: number, default: 0.5}
  dry: {type: boolean, default: false}
  note: {default: ''}
instructions: '{{ city }} {{days}} {{ ratio }} {{ dry }} [{{ note }}] {"a": {{}}} {{ not a name }} {{ a.b }}'
"""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"city": "012"}, "012 3 0.5 false []"),
        ({"city": "Lisbon", "days": "5", "ratio": "1", "dry": "true", "note": "n"}, "Lisbon 5 1 true [n]"),
        ({"city": "Lisbon", "days": 5, "ratio": 0.25, "dry": True}, "Lisbon 5 0.25 true []"),
        ({"city": "Lisbon", "note": "{{ city }} $1 \\1"}, "Lisbon 3 0.5 false [{{ city }} $1 \\1]"),
        ({"city": "Lisbon", "note": "012"}, "Lisbon 3 0.5 false [012]"),
    ],
)
def test_instructions_are_filled_with_the_runs_variables(folder: Path, given: dict[str, Any], text: str) -> None:
    agent = build(folder, HEAD + PARAMETERS, variables=given)
    assert agent.render_instructions(given) == text + ' {"a": {{}}} {{ not a name }} {{ a.b }}'


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, ["agent.yaml:4:9: the parameter 'city' has no value and no default (give one: --var city=VALUE)"]),
        ({"city": "Porto"}, ["agent.yaml:4:9: the parameter 'city' cannot be \"Porto\" (known: Lisbon, 012)"]),
        ({"city": 12}, ["agent.yaml:4:9: the parameter 'city' needs text, got 12 (give another: --var city=VALUE)"]),
        ({"city": "012", "day": "3"}, ["agent.yaml: unknown variable 'day' (did you mean 'days'?)"]),
        ({"city": "012", "days": "x", "dry": "no", "ratio": ""}, [
            "agent.yaml:5:9: the parameter 'days' needs a whole number, got x (give another: --var days=VALUE)",
            "agent.yaml:6:10: the parameter 'ratio' needs a number, got nothing (give another: --var ratio=VALUE)",
            "agent.yaml:7:8: the parameter 'dry' needs true or false, got no (give another: --var dry=VALUE)"]),
    ],
)  # fmt: skip
def test_variables_that_do_not_fit(folder: Path, given: dict[str, Any], found: list[str]) -> None:
    assert faults(folder, HEAD + PARAMETERS, variables=given) == found


def test_variables_of_a_file_without_parameters(folder: Path) -> None:
    assert faults(folder, HEAD, variables={"a": "b"}) == [
        "agent.yaml: unknown variable 'a' (the agent file has no 'parameters')"
    ]


def test_without_variables_the_agent_is_built_and_rendering_asks_for_them(folder: Path) -> None:
    agent = build(folder, HEAD + PARAMETERS)
    with pytest.raises(AgentFileError, match="the parameter 'city' has no value"):
        agent.render_instructions({})


def test_importing_the_package_loads_neither_pydantic_nor_yaml() -> None:
    program = (
        "import sys, lovia_cli.agentfile, lovia_cli.models.scripted, lovia_cli.models.spec\n"
        "print([name for name in ('pydantic', 'ruamel.yaml', 'jsonschema') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_only_the_caller_can_give_is_no_fault_of_the_file(folder: Path) -> None:
    tool = "{type: shell, name: t, command: [x], env: {A: '${env.NOPE} ${env.NONE}', B: '${env.NOR}'}}"
    text = f"{HEAD}parameters: {{city: {{}}}}\ntools:\n  - {tool}\n"
    (folder / "agent.yaml").write_text(text, encoding="utf-8")
    spec = load_agent_file(folder / "agent.yaml")
    with pytest.raises(AgentFileError) as caught:
        build_agent(spec, models=MODELS, variables={}, environ={})
    assert caught.value.hint == "the file is right: give or set what it asks for"
    assert [problem.hint for problem in caught.value.problems] == [
        "give one: --var city=VALUE", "set it: export NOPE=...", "set it: export NONE=...", "set it: export NOR=...",
    ]  # fmt: skip
    assert len(faults(folder, f"{text}  - nosuch:f\n", environ={})) == 4
    with pytest.raises(AgentFileError) as caught:
        build(folder, f"{text}  - nosuch:f\n", environ={})
    assert caught.value.hint is None, "the file is wrong too"
