"""Parameters, ``--var`` and ``${env.NAME}``: what an agent file asks for is given, or named."""

import pytest

from tests.cli.lovia import Lovia, call

PARAMETERS = """\
parameters:
  city: {type: string, enum: [Lisbon, Porto]}
  nights: {type: integer, default: 2}
  price: {type: number, default: 0.5}
  dry: {type: boolean, default: false}
  note: {type: string, default: ""}
instructions: |
  {{ nights }} nights in {{city}} for {{ price }}, dry: {{ dry }}, {{ note }}
"""
ENV_TOOL = """\
tools:
  - {type: shell, name: show, command: [printenv, TOKEN], env: {TOKEN: "Bearer ${env.API_TOKEN}${env.SUFFIX}"}}
"""


def asking(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}], more=PARAMETERS)


def error_of(lovia: Lovia, *options: str) -> str:
    """What is said about a run that is refused, with nothing stored."""
    ran = lovia("run", "agent.yaml", "go", *options)
    assert (ran.code, ran.out) == (3, "")
    assert not (lovia.folder / ".lovia").exists()
    return ran.err


def test_variables_are_typed_and_saved_with_the_run(lovia: Lovia) -> None:
    asking(lovia)
    options = ["-p", "city=Porto", "--var", "nights=3", "-p", "price=1e2", "-p", "dry=true", "-p", "note=a=b c"]
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1", *options).code == 0
    assert lovia("resume", "r1").out == "hi\n"


def test_a_variable_given_twice_is_the_last_one(lovia: Lovia) -> None:
    asking(lovia)
    assert lovia("run", "agent.yaml", "go", "-p", "city=Paris", "-p", "city=Porto").code == 0


def test_a_missing_variable_is_named_with_the_option_that_gives_it(lovia: Lovia) -> None:
    asking(lovia)
    assert error_of(lovia) == (
        "error: the parameter 'city' has no value and no default\n"
        "  where: " + str(lovia.folder / "agent.yaml") + ":5:9\n"
        "  hint: give one: --var city=VALUE\n"
    )


@pytest.mark.parametrize(
    ("option", "what", "hint"),
    [
        ("city=Paris", "the parameter 'city' cannot be \"Paris\"", "known: Lisbon, Porto"),
        ("city=", "the parameter 'city' cannot be \"\"", "known: Lisbon, Porto"),
        ("city=Porot", "the parameter 'city' cannot be \"Porot\"", "did you mean 'Porto'?"),
        ("nights=two", "the parameter 'nights' needs a whole number, got two", "give another: --var nights=VALUE"),
        ("nights=2.0", "the parameter 'nights' needs a whole number, got 2.0", "give another: --var nights=VALUE"),
        ("nights=", "the parameter 'nights' needs a whole number, got nothing", "give another: --var nights=VALUE"),
        ("nights=012", "the parameter 'nights' needs a whole number, got 012", "give another: --var nights=VALUE"),
        ("price=NaN", "the parameter 'price' needs a number, got NaN", "give another: --var price=VALUE"),
        ("dry=yes", "the parameter 'dry' needs true or false, got yes", "give another: --var dry=VALUE"),
        ("nihgts=2", "unknown variable 'nihgts'", "did you mean 'nights'?"),
        ("x=2", "unknown variable 'x'", "known: city, dry, nights, note, price"),
    ],
)
def test_a_wrong_variable(lovia: Lovia, option: str, what: str, hint: str) -> None:
    asking(lovia)
    said = (
        error_of(lovia, "-p", "city=Porto", "-p", option)
        if not option.startswith("city")
        else error_of(lovia, "-p", option)
    )
    lines = said.splitlines()
    assert lines[0] == f"error: {what}"
    assert lines[2:] == [f"  hint: {hint}"]


def test_all_wrong_variables_at_once(lovia: Lovia) -> None:
    asking(lovia)
    said = error_of(lovia, "-p", "nights=x", "-p", "citty=Porto")
    assert [line for line in said.splitlines() if line.startswith("  ")][:3] == [
        f"  {lovia.folder / 'agent.yaml'}: unknown variable 'citty' (did you mean 'city'?)",
        f"  {lovia.folder / 'agent.yaml'}:5:9: the parameter 'city' has no value and no default"
        " (give one: --var city=VALUE)",
        f"  {lovia.folder / 'agent.yaml'}:6:11: the parameter 'nights' needs a whole number, got x"
        " (give another: --var nights=VALUE)",
    ]


def test_without_parameters_a_variable_says_so(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    assert "hint: the agent file has no 'parameters'" in error_of(lovia, "-p", "x=1")


def test_z8_a_variable_given_now_wins_and_is_saved(lovia: Lovia) -> None:
    lovia.write("tools.py", 'def hi() -> str:\n    "Hi."\n    return "hi"\n')
    lovia.agent([call("hi"), call("hi"), {"text": "ok"}], more=PARAMETERS, tools="tools: [./tools.py:hi]")
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-p", "city=Porto", "--max-steps", "1")
    assert lovia("resume", "r1", "-p", "city=Nowhere").code == 3
    assert "instructions changed" not in lovia("resume", "r1", "--max-steps", "2").err
    assert "instructions changed" in lovia("resume", "r1", "--max-steps", "9", "-p", "city=Lisbon").err


# --- the environment --------------------------------------------------------------------------------------------------


def test_a_missing_environment_variable_is_named(lovia: Lovia) -> None:
    lovia.agent([call("show"), {"text": "ok"}], tools=ENV_TOOL)
    for env, name in (({"SUFFIX": "s"}, "API_TOKEN"), ({"API_TOKEN": "t"}, "SUFFIX")):
        ran = lovia("run", "agent.yaml", "go", env=env)
        assert (ran.code, ran.out) == (3, "")
        assert ran.err == (
            f"error: the environment variable {name} is not set\n"
            f"  where: {lovia.folder / 'agent.yaml'}:6:72\n"
            f"  hint: set it: export {name}=...\n"
        )
        assert not (lovia.folder / ".lovia").exists()
    error = lovia("run", "agent.yaml", "go", "--json").json["error"]
    assert (error["code"], error["hint"]) == ("agent_file", "the file is right: give or set what it asks for")


def test_an_empty_environment_variable_is_one(lovia: Lovia) -> None:
    lovia.agent([call("show"), {"text": "ok"}], tools=ENV_TOOL)
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1", env={"API_TOKEN": "", "SUFFIX": "x"})
    assert (ran.code, ran.out) == (0, "ok\n")


@pytest.mark.parametrize("written", ["${env.}", "${env.A B}", "${HOME}", "${args.x}"])
def test_what_is_no_environment_variable_is_refused(lovia: Lovia, written: str) -> None:
    lovia.agent([{"text": "hi"}], tools=ENV_TOOL.replace("${env.SUFFIX}", written))
    assert f"cannot hold {written}" in error_of(lovia)
