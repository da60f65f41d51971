"""Tests that need another program, marked ``services("name")``.

``.ci/services/NAME.sh`` installs it. Where it is missing, such tests are left out, and the last line of the run says
so; where ``CI`` is set, they fail.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PLACE = ROOT / ".venv-services"
PROGRAMS = {
    "chromium": PLACE / "chromium/bin/browser",
    "aimock": PLACE / "aimock/node_modules/.bin/llmock",
    "llmock": PLACE / "llmock/bin/llmock",
    "local_llm": PLACE / "local_llm/bin/python",
    "shells": PLACE / "shells/ready",
}
_LEFT_OUT = pytest.StashKey[Counter[str]]()


def needed(item: pytest.Item) -> str | None:
    """The service that ``item`` needs and that is not installed."""
    marker = item.get_closest_marker("services")
    name: str | None = marker.args[0] if marker else None
    return name if name is not None and not PROGRAMS[name].exists() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot run here, unless this is CI."""
    missing = [(item, name) for item in items if (name := needed(item)) is not None]
    if not missing or os.environ.get("CI"):
        return
    config.stash[_LEFT_OUT] = Counter(name for _, name in missing)
    gone = {item for item, _ in missing}
    config.hook.pytest_deselected(items=[item for item in items if item in gone])
    items[:] = [item for item in items if item not in gone]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """In CI a service that is missing is a failure."""
    if (name := needed(item)) is not None:
        pytest.fail(f"the service {name} is missing: install it with bash .ci/services/{name}.sh", pytrace=False)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of several tells the process that prints what it left out."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = dict(config.stash.get(_LEFT_OUT, Counter()))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker has collected, and left out, the same tests."""
    node.config.stash[_LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line: what was left out, and how to have it."""
    for name, count in sorted(config.stash.get(_LEFT_OUT, Counter()).items()):
        tests = f"{count} test{'s' if count > 1 else ''}"
        config.get_terminal_writer().line(f"NOT RUN: {tests} for want of {name}: bash .ci/services/{name}.sh")
