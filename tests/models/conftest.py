"""Servers on loopback, one a test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.models.kit import SERVERS, Faulty, StartFaulty, StartStrict, Strict, serving


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of this machine is used, and no proxy stands before the loopback servers."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[StartStrict]:
    """Starts the strict server with a script."""
    with ExitStack() as stack:

        def start(script: Sequence[dict[str, Any]]) -> Strict:
            turns, log = tmp_path / "turns.json", tmp_path / "requests.jsonl"
            turns.write_text(json.dumps(list(script)), "utf-8")
            port = stack.enter_context(serving(str(SERVERS / "strict_llm.py"), str(turns), "0", str(log)))
            return Strict(port, log)

        yield start


@pytest.fixture
def faulty(tmp_path: Path) -> Iterator[StartFaulty]:
    """Starts the server that misbehaves, with its steps."""
    with ExitStack() as stack:

        def start(steps: str) -> Faulty:
            command = (str(SERVERS / "fault_provider.py"), "--port", "0", "--script", steps)
            return Faulty(stack.enter_context(serving(*command)))

        yield start
