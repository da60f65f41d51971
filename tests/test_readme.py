"""The README is true: every command in it is run, in its order, and prints what stands there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def sessions(text: str) -> list[tuple[str, str]]:
    """Each command of the console blocks with the output below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def matches(expected: str, actual: str) -> bool:
    """True when they are the same, ``...`` standing for anything within a line."""
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, actual) is not None


def place(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    kept = shutil.ignore_patterns("*.jsonl", "tool-calls.txt", "__pycache__", ".lovia")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=kept)
    scripts = Path(sys.executable).parent
    return tmp_path, {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "HOME": str(tmp_path), "NO_COLOR": "1"}


def test_every_command_of_the_tour_prints_what_the_readme_says(tmp_path: Path) -> None:
    folder, env = place(tmp_path)
    for command, expected in sessions(README):
        ran = subprocess.run(
            ["bash", "-c", f"exec 2>&1\n{command}\ntrue"],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert matches(expected, ran.stdout), f"$ {command}\n--- expected\n{expected}--- got\n{ran.stdout}"


def test_the_python_example_runs_and_replays(tmp_path: Path) -> None:
    folder, env = place(tmp_path)
    [source] = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
    (folder / "example.py").write_text(source, encoding="utf-8")
    said = [
        subprocess.run([sys.executable, "example.py"], cwd=folder, env=env, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [ran.stdout for ran in said] == ["Hello! 1 False\n", "Hello! 1 True\n"]


def test_every_command_there_is_stands_in_the_table() -> None:
    from lovia_cli.cli.verbs import VERBS

    table = README.split("## Commands")[1].split("##")[0]
    assert [verb for verb in VERBS if not re.search(rf"`(lovia )?{verb}\b", table)] == []


def test_ci_calls_the_readmes_test_command() -> None:
    [command] = re.findall(r"^```sh tests\n(.*)\n```$", README, re.M)
    assert command.endswith(".venv/bin/pytest -n auto")
    assert "sh tests" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
