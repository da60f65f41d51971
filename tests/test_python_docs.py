"""docs/python.md is true: every example in it runs, and prints what stands below it."""

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

    names = {word.strip() for line in PAGE.read_text(encoding="utf-8").splitlines() for word in imported(line)}
    assert names
    assert names <= set(dir(lovia_cli))


def imported(line: str) -> list[str]:
    return line.removeprefix("from lovia_cli import ").split(",") if line.startswith("from lovia_cli import ") else []
