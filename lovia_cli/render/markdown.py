"""A run or a session as Markdown: nothing in a text of it acts as markup, and each text stays as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lovia_cli.render.parts import Block, Part, parts_of, title_of
from stores.exchange import Exported


def markdown(record: Exported) -> str:
    """The whole transcript."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Exported) -> Iterator[str]:
    yield f"# {_inline(title_of(record))}"
    for part in parts_of(record):
        yield ""
        yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    if part.title:
        yield f"## {_inline(part.title)}"
        yield ""
    yield from (f"- {name}: {_inline(value)}" for name, value in part.facts)
    for heading, blocks in part.sections():
        yield ""
        yield f"### {heading}"
        for block in blocks:
            yield ""
            yield f"**{_inline(block.label)}**"
            yield ""
            yield from _fenced(block)


def _fenced(block: Block) -> Iterator[str]:
    """The text within a fence that is longer than any in it: nothing there is a heading, a link or an image."""
    longest = max((len(run) for run in re.findall("`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence
    yield block.text.removesuffix("\n")
    yield fence


def _inline(text: str) -> str:
    """A line in which no character means anything."""
    return re.sub(r"([\\`*_\[\]<>&#|~])", r"\\\1", text)
