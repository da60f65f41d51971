"""Documents that are true: the code in them is run, and prints what stands below it."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.test_readme import matches

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A piece of Python and what it prints; ``line`` is where it begins in its document."""

    line: int
    code: str
    printed: str


def sections(path: Path) -> dict[str, list[Example]]:
    """The examples of each section. A block of text right behind one of Python is what that prints."""
    text = path.read_text(encoding="utf-8")
    heads = [(found.start(), found[1]) for found in re.finditer(r"^## (.*)$", text, re.MULTILINE)]
    ends = [*(start for start, _ in heads[1:]), len(text)]
    found = {name: _examples(text, start, end) for (start, name), end in zip(heads, ends, strict=True)}
    return {name: examples for name, examples in found.items() if examples}


def _examples(text: str, start: int, end: int) -> list[Example]:
    blocks = list(_BLOCK.finditer(text, start, end))
    examples = []
    for block, after in zip_longest(blocks, blocks[1:]):
        if block[1] == "python":
            follows = after is not None and after[1] == "text" and not text[block.end() : after.start()].strip()
            printed = after[2] if after is not None and follows else ""
            examples.append(Example(text.count("\n", 0, block.start(2)), block[2], printed))
    return examples


async def play(examples: list[Example], path: Path) -> None:
    """Run them in turn, as a reader would in ``python -m asyncio``: names stay, and ``await`` may stand alone."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for example in examples:
        printed = io.StringIO()
        source = "\n" * example.line + example.code  # a traceback names the line of the document
        code = compile(source, str(path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with contextlib.redirect_stdout(printed):
            result = eval(code, names)
            if inspect.isawaitable(result):
                await result
        said = f"{path.name}:{example.line}\n{example.code}--- expected\n{example.printed}--- got\n{printed.getvalue()}"
        assert matches(example.printed, printed.getvalue()), said
