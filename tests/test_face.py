"""``lovia_cli`` itself: one place for every public name, and free to import."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lovia_cli
import stores.errors
from lovia_cli import LoviaError, errors

ROOT = Path(__file__).parent.parent


def declared() -> dict[str, str]:
    """The names that a type checker sees, with their modules."""
    tree = ast.parse((ROOT / "lovia_cli" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    found = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: node.module or "" for node in found for alias in node.names}


def test_every_name_is_what_a_type_checker_takes_it_for() -> None:
    names = declared()
    assert sorted([*names, "__version__"]) == dir(lovia_cli)
    for name, module in names.items():
        assert getattr(lovia_cli, name) is getattr(sys.modules[module], name)


def test_every_error_is_there() -> None:
    assert set(errors.__all__) - {"Problem"} <= set(dir(lovia_cli))
    raised = {name for name, kind in vars(stores.errors).items() if isinstance(kind, type)}
    assert raised - {"Any"} <= set(dir(lovia_cli))


def test_the_codes_are_those_that_the_page_lists() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", page, re.MULTILINE)
    kinds = {name: kind for name in dir(lovia_cli) if isinstance(kind := getattr(lovia_cli, name), type)}
    errors = {name: kind.code for name, kind in kinds.items() if issubclass(kind, LoviaError)}
    assert dict(listed) == {name: code for name, code in errors.items() if name != "LoviaError"}
    assert len(set(errors.values())) == len(errors)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'lovia_cli' has no attribute 'Agnet'"):
        lovia_cli.Agnet  # noqa: B018 - asking for it is the test


def test_importing_it_loads_no_module_of_ours() -> None:
    program = "import sys, lovia_cli; print(*[m for m in sys.modules if m.split('.')[0] in ('lovia_cli', 'stores')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["lovia_cli"]


def test_it_is_typed_for_those_who_import_it() -> None:
    assert (ROOT / "lovia_cli" / "py.typed").exists()
    assert (ROOT / "stores" / "py.typed").exists()
