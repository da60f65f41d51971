"""All that is wrong with an agent file at once: a part that is malformed hides nothing of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from lovia_cli.agentfile.build import build_model, build_tools
from lovia_cli.agentfile.instructions import Instructions, read_instructions
from lovia_cli.agentfile.spec import AgentSpec
from lovia_cli.errors import AgentFileError, Problem
from lovia_cli.models.registry import provider_factories
from lovia_cli.models.spec import ModelFactory
from lovia_cli.yamlfile.reader import Document, Node, read_document
from lovia_cli.yamlfile.validate import examine, in_file_order

_LISTS = ("tools", "fallback")
"""Lists whose entries stand for themselves: one that is malformed is left out alone."""
_DEPENDENT = {"parameters": ("instructions",), "providers": ("model", "fallback", "limits"), "model": ("limits",)}
"""What would be found wrong only because another part is left out."""
_STAND_INS = {"name": "agent", "model": "openai:any"}
"""For what a file must have and has not, or has malformed: nothing is wrong with these."""

_Part = tuple[str | int, ...]


def check_agent_file(
    path: Path, *, models: Mapping[str, ModelFactory], learn: Callable[[list[str]], object] = len
) -> None:
    """Raise `AgentFileError` with all that is wrong with the file at ``path`` and with what it names, in its order.

    The modules of its tools are imported. No model is asked; variables and the environment are the run's to give.
    ``learn`` is told the names of the environment variables that the file names, before any of that.
    """
    from lovia_cli.agentfile.schema import AgentFile

    document = read_document(path, shown_as=str(path))
    file, problems, malformed = examine(AgentFile, document)
    problems = in_file_order(problems)
    if malformed:
        document = _without(_parts(malformed), document)
        file, _, _ = examine(AgentFile, document)
    placed = [(_position(problem), problem) for problem in problems]
    if file is not None:
        spec = AgentSpec(
            path=path.absolute(), file=file, document=document, instructions=Instructions("", {}, document)
        )
        learn(spec.environment_names())
        placed += _within(spec, models)
    if placed:
        raise AgentFileError.of([problem for _, problem in sorted(placed, key=lambda pair: pair[0])])


def _within(spec: AgentSpec, models: Mapping[str, ModelFactory]) -> list[tuple[tuple[int, int], Problem]]:
    """What is wrong with that which the parts of a well-formed file say, each with its position in that file."""
    document = spec.document
    found: dict[str, list[Problem]] = {"instructions": [], "model": [], "tools": []}
    try:
        read_instructions(spec.file, document, spec.folder)
    except AgentFileError as error:
        found["instructions"] += error.problems
    build_model(spec, None, {**provider_factories(), **models}, found["model"])
    build_tools(spec, dict.fromkeys(spec.environment_names(), ""), found["tools"])
    return [
        (_position(problem if problem.file == document.file else document.problem([key], "")), problem)
        for key, problems in found.items()
        for problem in problems
    ]


def _position(problem: Problem) -> tuple[int, int]:
    return problem.line or 0, problem.column or 0


def _parts(malformed: Iterable[Sequence[str | int]]) -> set[_Part]:
    """The parts of the file that have something malformed in them, and those that cannot be judged without."""
    from difflib import get_close_matches

    from lovia_cli.agentfile.schema import AgentFile

    parts: set[_Part] = set()
    for path in filter(None, malformed):  # an empty one is the whole file, of which nothing is left
        parts.add(tuple(path[:2] if path[0] in _LISTS else path[:1]))
        if path[0] not in AgentFile.model_fields:  # most likely one of them, misspelt
            parts |= {(key,) for key in get_close_matches(str(path[0]), AgentFile.model_fields, n=1)}
    for key, dependent in _DEPENDENT.items():
        if (key,) in parts:
            parts |= {(other,) for other in dependent}
    return parts


def _without(parts: set[_Part], document: Document) -> Document:
    """The document with those parts left out, and stand-ins for what it must have; all else keeps its place."""
    kept: dict[str, Node] = {}
    for key, node in document.root.value.items() if isinstance(document.root.value, dict) else ():
        if isinstance(node.value, list):
            entries = [entry for index, entry in enumerate(node.value) if (key, index) not in parts]
            node = Node(entries, node.mark)
        if (key,) not in parts:
            kept[key] = node
    for key, value in _STAND_INS.items():
        kept.setdefault(key, Node(value, document.root.mark))
    return Document(document.file, Node(kept, document.root.mark, document.root.keys))
