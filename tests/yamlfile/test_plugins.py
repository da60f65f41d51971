"""pydantic's plugins see the models of a user's tools, and none of lovia's own."""

import os
import subprocess
import sys
from pathlib import Path

PLUGIN = """\
import sys

class Plugin:
    def new_schema_validator(self, schema, schema_type, schema_type_path, *rest):
        print("plugin sees", schema_type_path.name, file=sys.__stderr__)
        return None, None, None

plugin = Plugin()
"""
TOOLS = """\
import pydantic

class City(pydantic.BaseModel):
    name: str

def weather(city: City) -> str:
    return "sunny"
"""
AGENT = "name: desk\nmodel: scripted:script.yaml\ntools: ['./tools.py:weather']\n"


def test_a_plugin_sees_the_models_of_tools_alone(tmp_path: Path) -> None:
    info = tmp_path / "site" / "watcher-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: watcher\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pydantic]\nwatcher = watcher:plugin\n")
    (tmp_path / "site" / "watcher.py").write_text(PLUGIN)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "script.yaml").write_text("turns: [{text: hi}]\n")
    (tmp_path / "agent.yaml").write_text(AGENT)
    told = python("-m", "lovia_cli", "validate", "agent.yaml", folder=tmp_path, path=tmp_path / "site")
    assert told == "plugin sees City\nplugin sees weather\nvalid: agent.yaml\n"


def test_another_thread_has_its_plugins_meanwhile(tmp_path: Path) -> None:
    program = """
import sys, threading
import pydantic
from lovia_cli.yamlfile.plugins import without_plugins

def build():
    pydantic.create_model("Model")

def looked():
    return "importlib.metadata" in sys.modules

with without_plugins():
    build()
    print("this thread:", looked())
    other = threading.Thread(target=build)
    other.start()
    other.join()
    print("another:", looked())
    build()
"""
    assert python("-c", program, folder=tmp_path) == "this thread: False\nanother: True\n"


def python(*argv: str, folder: Path, path: Path | None = None) -> str:
    """What a Python of its own says to these arguments, which it must carry out; ``path`` has more to import."""
    env = {**os.environ, "PYTHONPATH": str(path or "")}
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
