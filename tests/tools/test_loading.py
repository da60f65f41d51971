"""Finding the function that an agent file names."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lovia_cli.errors import AgentFileError
from lovia_cli.tools.loading import load_function


@pytest.fixture(autouse=True)
def _leave_imports_as_they_were() -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_a_file_beside_the_agent_file(tmp_path: Path) -> None:
    write(tmp_path, tools="count = 0\ndef charge():\n    global count\n    count += 1\n    return count\n")
    charge = load_function("./tools.py:charge", tmp_path)
    assert charge() == 1
    assert load_function("tools.py:charge", tmp_path)() == 2  # imported once
    assert load_function(f"{tmp_path}/tools.py:charge", tmp_path.parent)() == 3


def test_files_of_one_name_in_two_folders_do_not_collide(tmp_path: Path) -> None:
    source = "import helpers\nfrom . import helpers as own\ndef who():\n    return helpers.NAME, own.NAME\n"
    for name in ("a", "b"):
        write(tmp_path / name, tools=source, helpers=f"NAME = {name!r}\n")
    first = load_function("./tools.py:who", tmp_path / "a")
    second = load_function("./tools.py:who", tmp_path / "b")
    assert first() == ("a", "a")
    assert second() == ("b", "b")


def test_a_module_beside_the_agent_file_comes_first(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name / "kit", __init__="", git=f"def log():\n    return {name!r}\n")
    assert load_function("kit.git:log", tmp_path / "a")() == "a"
    assert load_function("kit.git:log", tmp_path / "b")() == "b"
    assert load_function("os.path:basename", tmp_path)("/x/y") == "y"


def test_an_import_within_a_function_finds_the_folder(tmp_path: Path) -> None:
    write(tmp_path, tools="def who():\n    import late_helper\n    return late_helper.NAME\n", late_helper="NAME = 1\n")
    assert load_function("./tools.py:who", tmp_path)() == 1


def test_a_method_is_named_with_dots(tmp_path: Path) -> None:
    write(tmp_path, tools="class Git:\n    @staticmethod\n    def log():\n        return 'log'\n")
    assert load_function("./tools.py:Git.log", tmp_path)() == "log"


def test_x13_what_a_module_prints_on_import_is_not_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, tools="print('hello')\ndef f(): pass\n")
    load_function("./tools.py:f", tmp_path)
    assert tuple(capsys.readouterr()) == ("", "hello\n")


@pytest.mark.parametrize(
    ("reference", "source", "message", "where", "hint"),
    [
        ("./tools.py", "", "'./tools.py' names no function", None, "write ./tools.py:function"),
        ("./tool.py:f", "", "there is no file ./tool.py", "tool.py", "paths start at the agent file"),
        ("nowhere.at.all:f", "", "there is no module nowhere.at.all", "", "is it installed here?"),
        ("./tools.py:chargecard", "def charge_card(): pass\n", "./tools.py has no function chargecard", "tools.py",
         "did you mean charge_card?"),
        ("./tools.py:x", "", "./tools.py has no function x", "tools.py", "it has: no function"),
        ("./tools.py:LIMIT", "LIMIT = 3\n", "LIMIT in ./tools.py is a int, not a function", "tools.py", None),
        ("./tools.py:f", "def f():\n    return (\n", "importing ./tools.py failed: SyntaxError: '(' was never closed",
         "tools.py:2", "correct the module"),
        ("./tools.py:f", "\n\n1 / 0\n", "importing ./tools.py failed: ZeroDivisionError: division", "tools.py:3",
         "correct the module"),
        ("./tools.py:f", "import sys\nsys.exit(2)\n", "importing ./tools.py failed: it calls sys.exit(2)", "tools.py:2",
         "correct the module"),
        ("./tools.py:f", "\nraise KeyboardInterrupt\n",
         "importing ./tools.py failed: it raises KeyboardInterrupt", "tools.py:2", "correct the module"),
        ("./tools.py:f", "\nimport no_such_thing\n",
         "importing ./tools.py failed: ModuleNotFoundError: No module named 'no_such_thing'", "tools.py:2",
         "install no_such_thing in the environment that lovia runs in"),
        ("tools:f", "\n1 / 0\n", "importing tools failed: ZeroDivisionError: division by zero", "tools.py:2",
         "correct the module"),
    ],
)  # fmt: skip
def test_each_fault_says_what_where_and_what_to_do(
    tmp_path: Path, reference: str, source: str, message: str, where: str | None, hint: str | None
) -> None:
    write(tmp_path, tools=source)
    with pytest.raises(AgentFileError) as caught:
        load_function(reference, tmp_path)
    error = caught.value
    assert error.message.startswith(message)
    assert error.where == (None if where is None else str(tmp_path / where))
    assert (error.hint or "").startswith(hint or "")
    assert (error.hint is None) == (hint is None)


def test_ctrl_c_during_an_import_is_no_fault_of_the_module(tmp_path: Path) -> None:
    write(tmp_path, tools="import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        load_function("./tools.py:f", tmp_path)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_file_that_failed_is_imported_anew(tmp_path: Path) -> None:
    write(tmp_path, tools="1 / 0\n")
    with pytest.raises(AgentFileError):
        load_function("./tools.py:f", tmp_path)
    write(tmp_path, tools="def f():\n    return 'repaired'\n")
    assert load_function("./tools.py:f", tmp_path)() == "repaired"
