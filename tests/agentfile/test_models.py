"""Providers, fallback models and the output schema of an agent file."""

from pathlib import Path

import pytest

from lovia_cli.agent import Agent
from lovia_cli.agentfile import build_agent, load_agent_file
from lovia_cli.engine.runner import Runner
from lovia_cli.errors import AgentFileError, InvalidOutputError
from lovia_cli.models.fallback import FallbackModel
from lovia_cli.models.openai import OpenAIModel
from lovia_cli.models.spec import ModelSpec
from lovia_cli.wiring import check_agent, model_factories

LOCAL = "providers:\n  local: {type: openai, base_url: 'http://127.0.0.1:9/v1', api_key_env: LOCAL_KEY}\n"
CITY = "{type: object, properties: {city: {type: string}}, required: [city]}"


def build(folder: Path, text: str, model: ModelSpec | None = None) -> Agent:
    (folder / "agent.yaml").write_text(f"name: bot\n{text}", encoding="utf-8")
    return build_agent(load_agent_file(folder / "agent.yaml"), models=model_factories(), model=model)


def test_a_provider_of_the_file_is_a_name_for_its_server(tmp_path: Path) -> None:
    model = build(tmp_path, f"model: local:qwen3\n{LOCAL}").model
    assert isinstance(model, OpenAIModel)
    assert (model.id, model.endpoint.base_url, model.endpoint.api_key_env) == (
        "local:qwen3", "http://127.0.0.1:9/v1", "LOCAL_KEY",
    )  # fmt: skip


def test_a_provider_is_unknown_without_its_row(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="unknown model provider 'locl'"):
        build(tmp_path, f"model: locl:qwen3\n{LOCAL}")


def test_the_keys_variables_are_known_for_redaction(tmp_path: Path) -> None:
    build(tmp_path, f"model: {{provider: openai, name: x, api_key_env: ONE}}\nfallback: [local:b]\n{LOCAL}")
    spec = load_agent_file(tmp_path / "agent.yaml")
    assert spec.environment_names() == ["LOCAL_KEY", "ONE"]


def test_fallback_models_are_asked_in_turn_and_the_first_names_the_agents_model(tmp_path: Path) -> None:
    model = build(tmp_path, f"model: openai:gpt-5\nfallback: [anthropic:claude-haiku-4-5, local:b]\n{LOCAL}").model
    assert isinstance(model, FallbackModel)
    assert [each.id for each in model.models] == ["openai:gpt-5", "anthropic:claude-haiku-4-5", "local:b"]
    assert model.id == "openai:gpt-5"
    other = build(tmp_path, "model: openai:gpt-5\nfallback: [openai:b]\n", ModelSpec("openai", "c")).model
    assert isinstance(other, FallbackModel)
    assert [each.id for each in other.models] == ["openai:c", "openai:b"]


def test_an_unknown_fallback_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError) as caught:
        build(tmp_path, "model: openai:gpt-5\nfallback:\n  - opnai:b\n")
    [problem] = caught.value.problems
    assert str(problem) == (f"{tmp_path}/agent.yaml:4:5: unknown model provider 'opnai' (did you mean 'openai'?)")


def test_a_cost_limit_of_the_file_needs_a_price_for_each_model(tmp_path: Path) -> None:
    limited = "model: anthropic:claude-haiku-4-5\nfallback: [local:b]\nlimits: {max_cost_usd: 1}\n" + LOCAL
    with pytest.raises(AgentFileError) as caught:
        build(tmp_path, limited)
    assert caught.value.where == f"{tmp_path}/agent.yaml:4:24"
    assert caught.value.message == "max_cost_usd is set, and the price of local:b is not known"
    with pytest.raises(AgentFileError, match="the price of local:b"):
        check_agent(tmp_path / "agent.yaml")  # lovia validate
    offline = build_agent(load_agent_file(tmp_path / "agent.yaml"), models=model_factories(), is_offline=True)
    assert offline.limits.max_cost_usd == 1


def test_an_output_schema_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="is not a JSON Schema"):
        build(tmp_path, "model: openai:gpt-5\noutput_schema: {type: objct}\n")


@pytest.mark.parametrize("text", ['{"city": "Faro"}', '```json\n{"city": "Faro"}\n```', ' {"city":"Faro"}\n'])
def test_the_output_is_the_value_of_the_text(tmp_path: Path, text: str) -> None:
    agent = build(tmp_path, f"model: openai:gpt-5\noutput_schema: {CITY}\n")
    assert agent.parse_output is not None
    assert agent.parse_output(text) == {"city": "Faro"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Faro", "the answer is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ('{"city": NaN}', "the answer is not JSON: NaN is no JSON value"),
        ('{"city": 1}', "the answer does not fit the output schema: at $.city: 1 is not of type 'string'"),
        ("{}", "the answer does not fit the output schema: at $: 'city' is a required property"),
    ],
)
def test_an_answer_that_does_not_fit_says_where(tmp_path: Path, text: str, fault: str) -> None:
    agent = build(tmp_path, f"model: openai:gpt-5\noutput_schema: {CITY}\n")
    assert agent.parse_output is not None
    with pytest.raises(InvalidOutputError) as caught:
        agent.parse_output(text)
    assert caught.value.message == fault


@pytest.mark.anyio
async def test_the_model_is_told_once_of_an_answer_that_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text('turns: [{text: Faro}, {text: \'{"city": "Faro"}\'}]')
    agent = build(tmp_path, f"model: scripted:s.yaml\noutput_schema: {CITY}\n")
    result = await Runner.run(agent, "where to?")
    assert (result.output, result.steps) == ({"city": "Faro"}, 2)
