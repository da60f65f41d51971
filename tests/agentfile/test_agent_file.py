"""Agent files as they are read: what each key takes, and where what is wrong is said to be."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lovia_cli.agentfile import AgentSpec, load_agent_file
from lovia_cli.agentfile.later import AGENT_KEYS, TOOL_KEYS, TOOL_TYPES
from lovia_cli.agentfile.schema import PythonTool, ShellTool, json_schema
from lovia_cli.errors import AgentFileError
from lovia_cli.models.spec import ModelSpec
from stores.errors import UserError

HEAD = "name: bot\nmodel: scripted:s.yaml\n"


def load(folder: Path, text: str) -> AgentSpec:
    path = folder / "agent.yaml"
    path.write_text(text, encoding="utf-8")
    return load_agent_file(path)


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(AgentFileError) as caught:
        load(folder, text)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


def test_the_smallest_file_has_the_defaults(tmp_path: Path) -> None:
    spec = load(tmp_path, HEAD)
    file = spec.file
    assert (spec.name, spec.path, spec.folder) == ("bot", tmp_path / "agent.yaml", tmp_path)
    assert spec.model == ModelSpec("scripted", "s.yaml")
    assert (file.version, file.description, file.instructions, file.tools, file.parameters) == (1, "", "", [], {})
    assert (file.limits.max_steps, file.limits.max_tool_calls, file.limits.max_seconds) == (50, None, None)
    assert (file.tool_concurrency, file.on_drift, file.model_settings) == (4, "warn", {})


def test_every_key_there_is(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        """\
# yaml-language-server: $schema=./agent.schema.json
version: 1
name: release-bot
description: Prepares and ships a release.
model: {provider: openai, name: gpt-5, base_url: "http://127.0.0.1:11434/v1", api_key_env: LOCAL_API_KEY}
model_settings: {temperature: 0, max_tokens: 8192, stop: [no, 012]}
parameters:
  service: {type: string, description: Service to release}
  env: {type: string, enum: [staging, production], default: staging}
  count: {type: integer, default: 3}
  ratio: {type: number, default: 0.5}
  dry: {type: boolean, default: false}
instructions: |
  You release {{ service }} to {{env}}.
tools:
  - tools.git:changelog
  - type: python
    function: ./tools.py:charge_card
    name: charge
    on_resume: fail
    timeout: 30
  - type: shell
    name: deploy
    description: Deploy the service.
    command: [./scripts/deploy.sh, "${args.env}"]
    args: {env: {type: string, enum: [staging, production]}}
    env: {DEPLOY_TOKEN: "${env.DEPLOY_TOKEN}"}
    cwd: scripts
    timeout: null
  - type: shell
    name: clean
    command: rm -rf build && mkdir build
    shell: true
limits: {max_steps: 40, max_tool_calls: 60, max_total_tokens: 400000, max_seconds: 900}
tool_concurrency: 8
on_drift: error
""",
    )
    file = spec.file
    assert spec.model == ModelSpec("openai", "gpt-5", "http://127.0.0.1:11434/v1", "LOCAL_API_KEY")
    assert file.model_settings == {"temperature": 0, "max_tokens": 8192, "stop": ["no", "012"]}
    assert [(name, row.type, row.required, row.default) for name, row in file.parameters.items()] == [
        ("service", "string", True, None), ("env", "string", False, "staging"), ("count", "integer", False, 3),
        ("ratio", "number", False, 0.5), ("dry", "boolean", False, False),
    ]  # fmt: skip
    short, charge, deploy, clean = file.tools
    assert short == "tools.git:changelog"
    assert charge == PythonTool(
        type="python", function="./tools.py:charge_card", name="charge", on_resume="fail", timeout=30.0
    )
    assert isinstance(deploy, ShellTool)
    assert deploy.command == ["./scripts/deploy.sh", "${args.env}"]
    assert (deploy.args, deploy.env) == (
        {"env": {"type": "string", "enum": ["staging", "production"]}}, {"DEPLOY_TOKEN": "${env.DEPLOY_TOKEN}"},
    )  # fmt: skip
    assert (deploy.cwd, deploy.timeout, deploy.on_resume, deploy.shell) == ("scripts", None, "rerun", False)
    assert isinstance(clean, ShellTool)
    assert (clean.command, clean.shell, clean.timeout) == ("rm -rf build && mkdir build", True, 120.0)
    assert (file.limits.max_steps, file.limits.max_seconds, file.tool_concurrency) == (40, 900.0, 8)
    assert file.on_drift == "error"


C39_TEXT = ["no", "on", "true", "null", "007", "3.10", "2026-01-01", "12:30", "0x1F"]


@pytest.mark.parametrize("written", C39_TEXT)
def test_c39_text_fields_take_what_was_written(tmp_path: Path, written: str) -> None:
    spec = load(
        tmp_path,
        f"name: {written}\nmodel: scripted:{written}\ndescription: {written}\ninstructions: {written}\ntools:\n"
        f"  - {{type: shell, name: on, description: {written}, command: [{written}, x], env: {{A: {written}}}}}\n",
    )
    tool = spec.file.tools[0]
    assert isinstance(tool, ShellTool)
    assert (spec.name, spec.file.description, spec.instructions.text) == (written, written, written)
    assert (spec.model.name, tool.name, tool.description, tool.command, tool.env) == (
        written, "on", written, [written, "x"], {"A": written},
    )  # fmt: skip


@pytest.mark.parametrize("written", C39_TEXT)
def test_c39_choices_of_a_text_parameter_or_argument_are_as_written(tmp_path: Path, written: str) -> None:
    spec = load(
        tmp_path,
        f"{HEAD}parameters: {{p: {{type: string, enum: [{written}], default: {written}}}}}\n"
        "tools:\n  - {type: shell, name: t, command: [x], args: {a: "
        f"{{type: string, enum: [{written}, x], default: {written}, const: {written}, examples: [{written}]}},\n"
        f"      l: {{type: array, items: {{type: string, enum: [{written}]}}}}, n: {{type: integer, default: 3}}}}}}\n",
    )
    parameter, tool = spec.file.parameters["p"], spec.file.tools[0]
    assert (parameter.enum, parameter.default) == ([written], written)
    assert isinstance(tool, ShellTool)
    assert tool.args == {
        "a": {"type": "string", "enum": [written, "x"], "default": written, "const": written, "examples": [written]},
        "l": {"type": "array", "items": {"type": "string", "enum": [written]}},
        "n": {"type": "integer", "default": 3},
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["agent.yaml: the file is empty (start with lines like 'name: ...')"]),
        ("- name: bot\n", ["agent.yaml:1:1: the file holds a list, not keys with values "
                           "(start with lines like 'name: ...')"]),
        ("model: scripted:s.yaml\n", ["agent.yaml:1:1: the agent file needs 'name' (add 'name: ...')"]),
        ("name: ' '\nmodel: a:b\n", ["agent.yaml:1:7: 'name' must not be blank or hold control characters"]),
        ("name: \"a\\eb\"\nmodel: a:b\n", ["agent.yaml:1:7: 'name' must not be blank or hold control characters"]),
        ("name: bot\nmodel: 3.10\n", ["agent.yaml:2:8: 'model' needs provider:name or a mapping, got 3.10 "
                                      "(such as scripted:script.yaml)"]),
        ("name: bot\nmodel: ':x'\n", ["agent.yaml:2:8: 'model' needs provider:name or a mapping, got \":x\" "
                                      "(such as scripted:script.yaml)"]),
        ("name: bot\nmodel: {provder: a, name: b}\n", [
            "agent.yaml:2:8: model needs 'provider' (add 'provider: ...')",
            "agent.yaml:2:9: unknown key 'provder' in model (did you mean 'provider'?)"]),
        ("agent:\n  name: bot\n  model: a:b\n", [
            "agent.yaml:1:1: the agent file needs 'name' (add 'name: ...')"]),
    ],
)  # fmt: skip
def test_c39_the_file_itself(tmp_path: Path, text: str, found: list[str]) -> None:
    assert faults(tmp_path, text)[: len(found)] == found


HINT_LATER = "(remove it, or use a newer lovia)"
KNOWN = (
    "known: description, fallback, history_limit, instructions, limits, model, model_settings, name, on_drift, "
    "output_schema, "
    "parameters, providers, "
    "tool_concurrency, tools, version"
)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("version: 2", "3:10: 'version' needs 1, got 2 (a newer file needs a newer lovia)"),
        ("version: true", "3:10: 'version' needs 1, got true (a newer file needs a newer lovia)"),
        ("instructons: hi", "3:1: unknown key 'instructons' in the agent file (did you mean 'instructions'?)"),
        ("instruction: hi", "3:1: unknown key 'instruction' in the agent file (did you mean 'instructions'?)"),
        ("zzz: hi", f"3:1: unknown key 'zzz' in the agent file ({KNOWN})"),
        ("name: twice", "3:1: duplicate key 'name', first on line 1 (keep one of them)"),
        ("instructions: [a]", "3:15: 'instructions' needs text, got a list"),
        ("instructions: {file: a, fil: b}", "3:25: unknown key 'fil' in instructions (did you mean 'file'?)"),
        ("tools:", "3:1: 'tools' needs a list, got nothing"),
        ("tools: ./tools.py:f", "3:8: 'tools' needs a list, got ./tools.py:f"),
        ("tools: [abc]", "3:9: an entry needs module:function or ./file.py:function, got abc"),
        ("tools: ['']", "3:9: an entry needs module:function or a mapping with a 'type', got \"\""),
        ("tools: [[]]", "3:9: an entry needs module:function or a mapping with a 'type', got a list"),
        ("tools: [{type: shel, name: t}]", "3:16: 'type' shel is not a type of tool (did you mean 'shell'?)"),
        ("tools: [{type: zzz, name: t}]", "3:16: 'type' zzz is not a type of tool (known: python, shell)"),
        ("tools: [{type: [shell]}]", "3:16: 'type' needs the name of a type, got a list (known: python, shell)"),
        ("tools: [{type: }]", "3:10: 'type' needs the name of a type, got nothing (known: python, shell)"),
        ("tools: [{command: [ls]}]", "3:9: an entry needs a 'type' (add 'type: shell')"),
        ("tools: [{tools: [a.b:c]}]", "3:9: an entry needs a 'type' (add 'type: python')"),
        ("tools: [{type: python, function: f}]",
         "3:34: 'function' needs module:function or ./file.py:function, got f"),
        ("tools: [{type: python, function: a.b:c, timeout: 12:30}]", "3:50: 'timeout' needs a number, got 12:30"),
        ("tools: [{type: python, function: a.b:c, timeout: 0}]", "3:50: 'timeout' must be more than 0, got 0"),
        ("tools: [{type: python, function: a.b:c, on_resume: retry}]",
         "3:52: 'on_resume' needs 'rerun' or 'fail', got retry (did you mean 'rerun'?)"),
        ("tools: [{type: python, function: a.b:c, on_resume: ask}]",
         "3:52: 'on_resume' ask is not there yet in this version of lovia (use rerun or fail)"),
        ("tools: [{type: python, function: a.b:c, command: [ls]}]",
         "3:41: unknown key 'command' in a python tool (known: function, name, on_resume, timeout, type)"),
        ("tools: [{type: shell, command: [ls]}]", "3:9: a shell tool needs 'name' (add 'name: ...')"),
        ("tools: [{type: shell, name: a b, command: [ls]}]",
         "3:29: 'name' must be 1 to 64 letters, digits, _ or -"),
        ("tools: [{type: shell, name: t, command: ls}]",
         "3:41: 'command' needs a list, one entry an argument (or add 'shell: true' to run one line)"),
        ("tools: [{type: shell, name: t, command: [ls], shell: true}]",
         "3:41: 'command' needs one line of text with 'shell: true' (or remove 'shell: true')"),
        ("tools: [{type: shell, name: t, command: []}]", "3:41: 'command' needs at least one entry"),
        ("tools: [{type: shell, name: t, command: [ls, [a]]}]", "3:46: an entry needs text, got a list"),
        ("tools: [{type: shell, name: t, command: [ls], shell: yes}]",
         "3:54: 'shell' needs true or false, got yes"),
        ("tools: [{type: shell, name: t, command: [ls], args: {a: string}}]",
         "3:57: 'a' needs a JSON Schema such as {type: string}, got string"),
        ("tools: [{type: shell, name: t, command: [ls], args: {a: {type: strng}}}]",
         "3:57: 'a' is not a JSON Schema: type: 'strng' is not valid under any of the given schemas"),
        ("tools: [{type: shell, name: t, command: [ls], args: {a-b: {}}}]",
         "3:54: the key 'a-b' cannot be a name here (start with a letter, then letters, digits or _)"),
        ("tools: [{type: shell, name: t, command: [ls], env: {A B: x}}]",
         "3:53: the key 'A B' cannot be a name here (start with a letter, then letters, digits or _)"),
        ("tools: [{type: shell, name: t, command: [ls], env: {A: '${TOKEN}'}}]",
         "3:56: 'A' cannot hold ${TOKEN} (write ${env.NAME})"),
        ("tools: [{type: shell, name: t, command: [ls], env: {A: '${args.x}'}}]",
         "3:56: 'A' cannot hold ${args.x} (${args.NAME} belongs in 'command')"),
        ("tools: [{type: shell, name: t, command: [ls], env: {A: '${env.B'}}]",
         "3:56: 'A' has a ${ that is never closed (write ${env.NAME})"),
        ("tools: [{type: shell, name: t, command: [ls, 'a ${foo.bar}']}]",
         "3:46: an entry cannot hold ${foo.bar} (write ${args.NAME})"),
        ("tools: [{type: shell, name: t, shell: true, command: 'a ${env.B}'}]",
         "3:54: 'command' cannot hold ${env.B} (${env.NAME} belongs in 'env')"),
        ("tools: [{type: shell, name: t, shell: true, command: 'a ${args.b'}]",
         "3:54: 'command' has a ${ that is never closed (write ${args.NAME})"),
        ("on_drift: wrn", "3:11: 'on_drift' needs 'warn', 'error' or 'ignore', got wrn (did you mean 'warn'?)"),
        ("parameters: {x: {type: strin}}",
         "3:24: 'type' needs 'string', 'integer', 'number' or 'boolean', got strin (did you mean 'string'?)"),
        ("providers: {x: {type: opeai}}",
         "3:23: 'type' needs 'openai' or 'anthropic', got opeai (did you mean 'openai'?)"),
        ("tools: [{type: shell, name: t, command: [ls], env: {A: '${env.}'}}]",
         "3:56: 'A' cannot hold ${env.} (write ${env.NAME})"),
        ("parameters: [a]", "3:13: 'parameters' needs a mapping, got a list"),
        ("parameters: {a: text}", "3:17: 'a' needs a mapping, got text"),
        ("parameters: {a b: {}}", "3:14: the key 'a b' cannot be a name here "
         "(start with a letter, then letters, digits or _)"),
        ("parameters: {a: {type: int}}",
         "3:24: 'type' needs 'string', 'integer', 'number' or 'boolean', got int (did you mean 'integer'?)"),
        ("parameters: {a: {enum: []}}", "3:24: 'enum' needs a list of values, got a list"),
        ("parameters: {a: {type: integer, enum: [1, x]}}",
         "3:39: 'enum' needs a whole number, got x (the parameter's type is integer)"),
        ("parameters: {a: {type: integer, default: '5'}}",
         "3:42: 'default' needs a whole number, got \"5\" (the parameter's type is integer)"),
        ("parameters: {a: {type: boolean, default: no}}",
         "3:42: 'default' needs true or false, got no (the parameter's type is boolean)"),
        ("parameters: {a: {enum: [x, y], default: z}}",
         "3:41: 'default' is not in 'enum': z (known: x, y)"),
        ("limits: {max_step: 3}", "3:10: unknown key 'max_step' in limits (did you mean 'max_steps'?)"),
        ("limits: {max_steps: 0}", "3:21: 'max_steps' must be 1 or more, got 0"),
        ("limits: {tools: []}", "3:10: unknown key 'tools' in limits "
         "('tools' belongs at the top level of the file; check the indentation)"),
        ("limits: {handoffs: []}", "3:10: unknown key 'handoffs' in limits "
         "('handoffs' belongs at the top level of the file; check the indentation)"),
        ("limits: {max_seconds: 1h}", "3:23: 'max_seconds' needs a number, got 1h"),
        ("tool_concurrency: 0", "3:19: 'tool_concurrency' must be 1 or more, got 0"),
        ("history_limit: -1", "3:16: 'history_limit' must be 0 or more, got -1"),
        ("on_drift: shout", "3:11: 'on_drift' needs 'warn', 'error' or 'ignore', got shout"),
        ("model_settings: hot", "3:17: 'model_settings' needs a mapping, got hot"),
    ],
)  # fmt: skip
def test_c39_each_refusal_has_its_place(tmp_path: Path, line: str, fault: str) -> None:
    assert faults(tmp_path, f"{HEAD}{line}\n") == [f"agent.yaml:{fault}"]


@pytest.mark.parametrize(
    "line",
    [f"{key}: {{}}" for key in sorted(AGENT_KEYS)]
    + [f"tools: [{{type: python, function: a.b:c, {key}: true}}]" for key in sorted(TOOL_KEYS)]
    + [f"tools: [{{type: {kind}, name: t}}]" for kind in sorted(TOOL_TYPES)],
)
def test_what_a_later_version_brings_says_that_it_is_not_there_yet(tmp_path: Path, line: str) -> None:
    (fault,) = faults(tmp_path, f"{HEAD}{line}\n")
    assert "is not there yet in this version of lovia" in fault


def test_c39_tools_one_level_too_deep(tmp_path: Path) -> None:
    text = f"{HEAD}limits:\n  max_steps: 3\n  tools:\n    - ./tools.py:f\n"
    assert faults(tmp_path, text) == [
        "agent.yaml:5:3: unknown key 'tools' in limits "
        "('tools' belongs at the top level of the file; check the indentation)"
    ]


def test_all_faults_of_a_file_at_once_in_its_order(tmp_path: Path) -> None:
    text = (
        "nme: a\nmodel: x\nmodel: y\ninstructons: |\n  text\n"
        "tools:\n  - {type: shel}\n  - abc\nlimits: {max_steps: 0}\n"
    )
    assert [fault.split(": ")[0] for fault in faults(tmp_path, text)] == [
        f"agent.yaml:{place}" for place in ("1:1", "2:8", "3:1", "4:1", "7:12", "8:5", "9:21")
    ]


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbf" + HEAD.replace("\n", "\r\n").encode())
    assert load_agent_file(tmp_path / "a.yaml").name == "bot"


def test_instructions_from_a_file_beside_the_agent(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_bytes(b"\xef\xbb\xbfBe kind.\n")
    assert load(tmp_path, f"{HEAD}instructions: {{file: prompt.md}}\n").instructions.text == "Be kind.\n"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "agent.yaml:3:22: cannot read prompt.md: no such file or directory (the path starts at the agent file)"),
        (b"caf\xe9", "agent.yaml:3:22: cannot read prompt.md: not valid UTF-8 (save it as UTF-8)"),
        (
            b"Hi.\n{{ nme }} and {{ name }}",
            "prompt.md:2:1: unknown variable 'nme' in the instructions (did you mean 'name'?)",
        ),
    ],
)
def test_instructions_that_cannot_be_read(tmp_path: Path, content: bytes | None, fault: str) -> None:
    if content is not None:
        (tmp_path / "prompt.md").write_bytes(content)
    assert faults(tmp_path, f"{HEAD}instructions: {{file: prompt.md}}\nparameters: {{name: {{}}}}\n") == [fault]


def test_a_variable_that_no_parameter_declares(tmp_path: Path) -> None:
    assert faults(tmp_path, f"{HEAD}instructions: Go to {{{{ city }}}}.\n") == [
        "agent.yaml:3:15: unknown variable 'city' in the instructions (declare it: parameters: {city: {type: string}})"
    ]


def test_names_of_environment_variables_are_known_and_their_values_found(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "name: bot\nmodel: {provider: openai, name: m, api_key_env: KEY}\ntools:\n"
        "  - {type: shell, name: a, command: [x], env: {A: '${env.T1}:${env.T2}', B: plain}}\n"
        "  - {type: shell, name: b, command: [x], env: {A: '${env.T1}'}}\n",
    )
    assert spec.environment_names() == ["KEY", "T1", "T2"]


def test_a_missing_agent_file(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError) as caught:
        load_agent_file(tmp_path / "no.yaml")
    assert (caught.value.message, caught.value.where) == (
        "cannot read the file: no such file or directory", str(tmp_path / "no.yaml"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "spec"),
    [("openai:gpt-5", ModelSpec("openai", "gpt-5")), ("local:qwen3:8b", ModelSpec("local", "qwen3:8b"))],
)
def test_a_model_on_the_command_line(text: str, spec: ModelSpec) -> None:
    assert ModelSpec.parse(text) == spec


@pytest.mark.parametrize("text", ["gpt-5", "", ":", "openai:", ":gpt-5", "  :x"])
def test_a_model_without_a_provider_is_a_usage_error(text: str) -> None:
    with pytest.raises(UserError):
        ModelSpec.parse(text)


VALID: list[dict[str, Any]] = [
    {"name": "a", "model": "scripted:s.yaml"},
    {"name": "a", "model": {"provider": "x", "name": "y"}, "tools": ["a.b:c", {"type": "python", "function": "a:b"}]},
    {"name": "a", "model": "x:y", "tools": [{"type": "shell", "name": "t", "command": ["ls"], "timeout": None}]},
    {"name": "a", "model": "x:y", "instructions": {"file": "p.md"}, "parameters": {"p": {"default": 3}}},
]
INVALID: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "a", "model": "x:y", "nme": 1},
    {"name": "a", "model": "x:y", "limits": {"max_steps": 0}},
    {"name": "a", "model": "x:y", "tools": [{"type": "http"}]},
    {"name": "a", "model": "x:y", "tools": [{"type": "shell", "name": "t", "command": []}]},
]


def test_the_json_schema_is_made_from_what_runs() -> None:
    schema = json.loads(json.dumps(json_schema()))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert [validator.is_valid(file) for file in VALID] == [True] * len(VALID)
    assert [validator.is_valid(file) for file in INVALID] == [False] * len(INVALID)
