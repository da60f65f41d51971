"""The source keeps the arrows and sizes of the house, and importing it stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture import LONGEST_FUNCTION, LONGEST_MODULE, imports, sources, too_long, wrong_arrows

HEAVY = ("pydantic", "rich", "ruamel", "jsonschema", "openai", "anthropic", "mcp", "sqlite3")


def test_imports_point_one_way() -> None:
    assert [breach for module, source in sources() for breach in wrong_arrows(module, source)] == []


def test_a_file_is_one_noun_and_a_function_does_one_thing() -> None:
    assert [breach for module, source in sources() for breach in too_long(module, source)] == []


def test_the_source_is_found() -> None:
    modules = {module for module, _ in sources()}
    assert {"stores.entries", "stores.memory.runs", "lovia_cli.agent", "lovia_cli.engine.events"} <= modules


@pytest.mark.parametrize("module", ["lovia_cli", "stores", "stores.file", "stores.memory", "lovia_cli.engine"])
def test_importing_does_nothing_heavy(module: str) -> None:
    assert loaded(f"import {module}") == ""


def test_importing_something_heavy_is_noticed() -> None:
    assert loaded("def late(): import mcp\nimport sqlite3, json") == "sqlite3"


def loaded(statement: str) -> str:
    """The heavy libraries that a fresh interpreter has loaded after the statement."""
    program = f"{statement}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("module", "source", "reason"),
    [
        ("stores.records", "import lovia_cli", "stores knows nothing of lovia_cli"),
        ("stores.file.runs", "from lovia_cli.errors import Stopped", "stores knows nothing of lovia_cli"),
        ("stores.file.runs", "def f():\n    from lovia_cli import agent", "stores knows nothing of lovia_cli"),
        ("stores.surgery", "from stores.file import FileSession", "a backend is named by nobody in stores"),
        ("stores.sqlite.runs", "from stores import memory", "a backend is named by nobody in stores"),
        ("stores.file.runs", "from stores.file.doctor.quarantine import set_aside", "a store does not know its doctor"),
        ("stores.file.lease", "def f():\n    from stores.file import doctor", "a store does not know its doctor"),
        ("stores.memory", "from stores.conformance.samples import IDS", "the contract's tests are for tests"),
        ("lovia_cli.engine.loop", "import stores.file.runs", "only wiring names a concrete store"),
        ("lovia_cli.engine.loop", "from stores.memory import InMemorySession", "only wiring names a concrete store"),
        ("lovia_cli.engine.loop", "from stores import sqlite", "only wiring names a concrete store"),
        (
            "lovia_cli.cli.commands.run",
            "def f():\n    from stores.file import FileSession",
            "only wiring names a concrete store",
        ),
        ("lovia_cli.engine.loop", "import importlib\nimportlib.import_module('stores.file')", "only wiring names"),
        ("lovia_cli.engine.loop", "from lovia_cli.agentfile.spec import load", "do not know each other"),
        ("lovia_cli.agentfile.build", "def f():\n    import lovia_cli.engine.runner", "do not know each other"),
        ("lovia_cli.agentfile.build", "from ..engine import events", "do not know each other"),
        ("lovia_cli.engine.loop", "from lovia_cli.wiring import open_store", "engine stands below wiring"),
        ("lovia_cli.engine.loop", "from lovia_cli import render", "engine stands below render"),
        ("lovia_cli.wiring", "from lovia_cli.cli import app", "wiring stands below cli"),
        ("lovia_cli.settings", "from .cli.options import Options", "settings stands below cli"),
        ("lovia_cli.models.base", "from lovia_cli.engine.events import Event", "models stands below engine"),
        ("lovia_cli.tools.base", "from lovia_cli.agentfile import spec", "tools stands below agentfile"),
        ("lovia_cli.errors", "from lovia_cli.agent import Agent", "errors stands below agent"),
        ("lovia_cli.engine.loop", "from lovia_cli.models.scripted import X", "only wiring names a concrete model"),
        (
            "lovia_cli.cli.commands.run",
            "from lovia_cli.models import openai_wire",
            "only wiring names a concrete model",
        ),
        ("lovia_cli.engine.loop", "from lovia_cli import Runner", "the public face is for callers"),
        ("lovia_cli.novelty", "from lovia_cli.agent import Agent", "novelty has no layer"),
    ],
)
def test_a_wrong_arrow_is_noticed(module: str, source: str, reason: str) -> None:
    (breach,) = wrong_arrows(module, source)
    assert reason in breach


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "lovia_cli.wiring",
            "from stores.file import FileSession\nfrom lovia_cli.models.scripted import ScriptedModel",
        ),
        (
            "lovia_cli.cli.commands.run",
            "import lovia_cli.wiring, lovia_cli.render.text, lovia_cli.engine.runner, stores.records",
        ),
        ("lovia_cli.cli.app", "from lovia_cli import __version__, settings"),
        ("lovia_cli.engine.loop", "from stores.protocols import Session\nfrom lovia_cli.models.base import Model"),
        ("lovia_cli.__init__", "from stores.file import FileSession\nfrom lovia_cli.engine.runner import Runner"),
        ("stores.file.runs", "from stores.file.disk import write\nfrom stores.records import fold\nimport filelock"),
        ("stores.file.doctor.check", "from stores.file.doctor.quarantine import Problem\nimport stores.file.root"),
    ],
)
def test_a_right_arrow_passes(module: str, source: str) -> None:
    assert wrong_arrows(module, source) == []


def test_every_form_of_import_is_read() -> None:
    source = """
import a.b
from c import d
from . import e
from ..f import g
__import__("h")
later = lambda: importlib.import_module("i")
"""
    assert [name for _, name in imports("p.q.r", source)] == ["a.b", "c.d", "p.q.e", "p.f.g", "h", "i"]


def test_what_is_too_long_is_noticed() -> None:
    function = "async def long():\n" + "    pass\n" * LONGEST_FUNCTION
    assert too_long("m", function) == [f"m:1 long has {LONGEST_FUNCTION + 1} lines"]
    assert too_long("m", "x = 1\n" * (LONGEST_MODULE + 1)) == [f"m has {LONGEST_MODULE + 1} lines"]
    assert too_long("m", "x = 1\n" * LONGEST_MODULE + "") == []
