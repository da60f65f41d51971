"""Whatever stands in a file, it is read or refused with a place; nothing else ever comes out."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lovia_cli.agentfile.schema import AgentFile
from lovia_cli.errors import AgentFileError
from lovia_cli.models.script import Script
from lovia_cli.yamlfile.fields import Strict
from lovia_cli.yamlfile.reader import parse_document
from lovia_cli.yamlfile.validate import validate

KEYS = [*AgentFile.model_fields, *Script.model_fields, "type", "function", "command", "args", "env", "cases", "fail"]
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["shell", "python", "{{ x }}", "a:b"])
)
values = st.recursive(
    scalars | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(model: type[Strict], raw: bytes) -> None:
    try:
        validate(model, parse_document(raw, file="f.yaml"))
    except AgentFileError as error:
        found = error.problems
    else:
        return
    assert found, "an error without a place"
    assert all(problem.file == "f.yaml" and problem.message for problem in found)


@pytest.mark.parametrize("model", [AgentFile, Script])
@quick
@given(data=st.dictionaries(st.sampled_from(KEYS), values, max_size=6))
def test_c39_any_values_under_known_keys(model: type[Strict], data: dict[str, Any]) -> None:
    check(model, json.dumps(data).encode())


@quick
@given(raw=st.binary(max_size=40) | st.text("ab:-[]{}#&*!|>'\"%@`?,\n\t \ufeff\x85\u2028", max_size=40).map(str.encode))
@example(raw=b"? ")
@example(raw=b"- - -")
@example(raw=b"a: !!")
@example(raw=b"a: |9\n")
@example(raw=b"%")
@example(raw=b"--- ---")
@example(raw=b'a: "\\xZZ"')
@example(raw=b'a: "\\UFFFFFFFF"')
def test_c39_any_bytes(raw: bytes) -> None:
    check(AgentFile, raw)
