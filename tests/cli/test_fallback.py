"""Several models as one, as a person and a script see it: who is asked next, who answered, and whose key is missing."""

import json

from tests.cli.lovia import Lovia


def test_the_fallback_is_named_when_it_is_asked_and_when_it_has_answered(lovia: Lovia) -> None:
    refused = {"text": "never", "fail": {"status": 400, "message": "no such model", "times": 9}}
    lovia.agent([refused], more="fallback: [scripted:two.yaml]")
    lovia.write("two.yaml", json.dumps({"turns": [{"text": "I stood in"}]}))
    run = ["run", "agent.yaml", "go", "--run-id", "r1"]
    ran = lovia(*run)
    assert (ran.code, ran.out) == (0, "I stood in\n")
    failed = "scripted:agent-script.yaml: status 400: no such model"
    assert f"asking the fallback scripted:two.yaml: {failed}\n" in ran.err
    replayed = lovia(*run, "--json").json
    assert (replayed["replayed"], replayed["model"]) == (True, "scripted:two.yaml")
    assert lovia("run", "agent.yaml", "go", "--json").json["model"] == "scripted:two.yaml"


def test_a_dry_run_looks_for_the_key_of_each_model(lovia: Lovia) -> None:
    lovia.write("agent.yaml", "version: 1\nname: bot\nmodel: openai:gpt-5\nfallback: [anthropic:claude-haiku-4-5]\n")
    dry = ["run", "agent.yaml", "go", "--dry-run", "--json"]
    one = lovia(*dry, env={"OPENAI_API_KEY": "k"})
    missing = "no key for anthropic: the environment variable ANTHROPIC_API_KEY is not set"
    assert (one.code, one.json["warnings"]) == (0, [f"anthropic:claude-haiku-4-5 cannot be asked: {missing}"])
    none = lovia(*dry)
    assert (none.code, none.json["error"]["code"]) == (4, "credentials")
    both = "no key for openai: the environment variable OPENAI_API_KEY is not set; " + missing
    assert none.json["error"]["message"] == both
    assert lovia("run", "agent.yaml", "go", "--json").json["error"]["message"] == both
