"""Which model a spec names, and where its key comes from."""

from pathlib import Path

import pytest

from lovia_cli.errors import AgentFileError
from lovia_cli.models.anthropic import AnthropicModel
from lovia_cli.models.base import ModelRequest
from lovia_cli.models.client import load_sdk
from lovia_cli.models.openai import OpenAIModel
from lovia_cli.models.provider import ProviderModel
from lovia_cli.models.registry import ProviderSpec, provider_factories
from lovia_cli.models.spec import ModelSpec

LOCAL = ProviderSpec(type="openai", base_url="http://127.0.0.1:1/v1", api_key_env="LOCAL_KEY", finish_optional=True)


def build(text: str, more: dict[str, ProviderSpec] | None = None) -> ProviderModel:
    spec = ModelSpec.parse(text)
    model = provider_factories(more)[spec.provider](spec, Path())
    assert isinstance(model, ProviderModel)
    return model


@pytest.mark.parametrize(
    ("text", "kind", "base_url", "api_key_env", "key_needed"),
    [
        ("openai:gpt-5", OpenAIModel, None, "OPENAI_API_KEY", True),
        ("anthropic:claude-sonnet-4-5", AnthropicModel, None, "ANTHROPIC_API_KEY", True),
        ("ollama:qwen3:8b", OpenAIModel, "http://127.0.0.1:11434/v1", None, False),
        ("openrouter:a/b:free", OpenAIModel, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", True),
        ("local:m", OpenAIModel, "http://127.0.0.1:1/v1", "LOCAL_KEY", True),
        ("mine:m", AnthropicModel, "http://127.0.0.1:2", None, False),
    ],
)
def test_a_name_before_the_colon_is_a_provider(
    text: str, kind: type[ProviderModel], base_url: str | None, api_key_env: str | None, key_needed: bool
) -> None:
    model = build(text, {"local": LOCAL, "mine": ProviderSpec(type="anthropic", base_url="http://127.0.0.1:2")})
    assert type(model) is kind
    assert model.id == text
    endpoint = model.endpoint
    assert (endpoint.base_url, endpoint.api_key_env, endpoint.key_needed) == (base_url, api_key_env, key_needed)


def test_options_of_a_provider_reach_its_wire() -> None:
    more = {
        "local": ProviderSpec(type="openai", base_url="http://127.0.0.1:1", stream=False, finish_optional=True),
        "mine": ProviderSpec(type="anthropic", base_url="http://127.0.0.1:1", read_timeout=5.0, prompt_cache=False),
    }
    ask = ModelRequest(run_id="r", agent="a", number=1, system="S", entries=[])
    local, mine = build("local:m", more), build("mine:m", more)
    assert (local.endpoint.stream, mine.endpoint.read_timeout) == (False, 5.0)
    assert "cache_control" not in str(mine._wire.body(ask, stream=True))
    assert "cache_control" in str(build("anthropic:m")._wire.body(ask, stream=True))


def test_the_spec_of_a_model_comes_before_its_providers() -> None:
    spec = ModelSpec("local", "m", base_url="http://127.0.0.1:3/v1", api_key_env="OTHER")
    model = provider_factories({"local": LOCAL})["local"](spec, Path())
    assert isinstance(model, OpenAIModel)
    assert (model.endpoint.base_url, model.endpoint.api_key_env) == ("http://127.0.0.1:3/v1", "OTHER")


@pytest.mark.parametrize("name", ["openai", "anthropic", "openrouter", "team"])
def test_a_key_stays_at_the_address_it_was_named_for(name: str) -> None:
    """A model's own address gets the key that the model names, and neither the vendor's nor its provider's."""
    elsewhere = "http://127.0.0.1:1/v1"
    team = {"team": ProviderSpec(type="openai", base_url="http://127.0.0.1:2/v1", api_key_env="TEAM_KEY")}
    make = provider_factories(team)[name]
    for spec, key in (
        (ModelSpec(name, "m", base_url=elsewhere), None),
        (ModelSpec(name, "m", base_url=elsewhere, api_key_env="MINE"), "MINE"),
    ):
        model = make(spec, Path())
        assert isinstance(model, ProviderModel)
        assert (model.endpoint.api_key_env, model.endpoint.key_needed) == (key, key is not None)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_provider_with_the_vendors_name_and_its_own_address_gets_no_key_of_the_vendor(kind: str) -> None:
    own = ProviderSpec(type=kind, base_url="http://127.0.0.1:1/v1")  # type: ignore[arg-type]  # one of the two
    assert build(f"{kind}:m", {kind: own}).endpoint.api_key_env is None


@pytest.mark.anyio
async def test_a_missing_package_is_an_error_that_names_the_extra() -> None:
    with pytest.raises(AgentFileError) as caught:
        await load_sdk("lovia_no_such_sdk", "openai")
    assert caught.value.hint == "install it with: pip install 'lovia-cli[openai]'"


def test_naming_a_model_loads_no_library() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from lovia_cli.models.registry import provider_factories as f;"
        "from lovia_cli.models.spec import ModelSpec as S;"
        "[f()[n](S(n, 'm'), Path()) for n in ('openai', 'anthropic')];"
        "print(sorted({'openai', 'anthropic', 'httpx2', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
