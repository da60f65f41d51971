"""docs/python.md is true: every example in it runs, and prints what stands below it."""

import ast
from pathlib import Path

import pytest

from tests.architecture import ROOT
from tests.documents import play, sections

PAGE = ROOT / "docs" / "python.md"
SECTIONS = sections(PAGE)


@pytest.mark.anyio
@pytest.mark.parametrize("section", SECTIONS)
async def test_the_examples_of_a_section_run_and_print_what_it_says(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await play(SECTIONS[section], PAGE)


def test_an_example_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("## A\n\n```python\nprint(1)\n```\n\n```text\n2\n```\n", encoding="utf-8")
    (examples,) = sections(page).values()
    with pytest.raises(AssertionError, match="--- expected\n2\n--- got\n1\n"):
        play(examples, page).send(None)


def test_every_name_that_the_page_takes_from_lovia_is_public() -> None:
    import lovia_cli

    code = [ast.parse(example.code) for examples in SECTIONS.values() for example in examples]
    found = [node for tree in code for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in found if node.module == "lovia_cli" for alias in node.names}
    assert len(names) > 30
    assert names <= set(dir(lovia_cli))
    assert {node.module for node in found} - {"lovia_cli", "uuid", "pathlib"} == {"stores.conformance"}
