"""A document against the pydantic model of its file: the typed values, or every problem with its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from lovia_cli.errors import AgentFileError, Problem
from lovia_cli.yamlfile.reader import Document, Node

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from lovia_cli.yamlfile.fields import Strict

S = TypeVar("S", bound="Strict")

_KEY = "[key]"
"""How pydantic marks that a key is wrong and not its value."""

_NEEDED = {
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "list_type": "a list",
}


def validate(model: type[S], document: Document) -> S:
    """The values of ``document`` as ``model``. Raises `AgentFileError` with all problems, the reader's too."""
    result, problems, _ = examine(model, document)
    if problems or result is None:
        raise AgentFileError.of(in_file_order(problems))
    return result


def examine(model: type[S], document: Document) -> tuple[S | None, list[Problem], list[list[str | int]]]:
    """The values where they are well formed, all problems, the reader's too, and the paths of what is malformed."""
    from pydantic import ValidationError

    try:
        return model.model_validate(document.root.data()), list(document.problems), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        paths = [[part for part in detail["loc"] if part != _KEY and not _is_tag(part)] for detail in details]
        return None, [*document.problems, *found(model, document, error)], paths


def found(model: type[Strict], document: Document, error: ValidationError) -> list[Problem]:
    """What pydantic found, in our words and with places."""
    return [_problem(model, document, detail) for detail in error.errors(include_url=False)]


def in_file_order(problems: Iterable[Problem]) -> list[Problem]:
    """From top to bottom, one a place: what follows from the first problem of a place says nothing new."""
    places: dict[tuple[int, int], Problem] = {}
    for problem in problems:
        places.setdefault((problem.line or 0, problem.column or 0), problem)
    return [places[place] for place in sorted(places)]


def near(word: str, known: Iterable[str], *, otherwise: bool = True) -> str | None:
    """A hint: ``did you mean 'instructions'?``, or all there is to choose from."""
    from difflib import get_close_matches

    names = sorted(known)
    close = get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known: {', '.join(names)}" if names and otherwise else None


def _problem(model: type[Strict], document: Document, detail: ErrorDetails) -> Problem:
    loc, kind, context = detail["loc"], detail["type"], detail.get("ctx", {})
    if loc and loc[-1] == _KEY:
        return _bad_key(document, loc, context)
    if at := context.get("at"):
        loc = (*loc, at)
    path = [part for part in loc if not _is_tag(part)]
    key = str(path[-1]) if path else ""
    owner = _model_at(model, loc[:-1])
    if kind == "extra_forbidden" and owner is not None:
        return _unknown_key(model, owner, document, path, key)
    if kind == "missing":
        noun = owner.noun if owner else "this"
        return document.problem(path[:-1], f"{noun} needs '{key}'", hint=f"add '{key}: ...'")
    here = _model_at(model, loc)
    name = f"'{key}'" if path and isinstance(path[-1], str) else here.noun if here else "an entry"
    if kind == "field":
        return document.problem(path, f"{name} {context['text']}", hint=context["hint"] or None)
    node = document.find(path)
    hint = _nearest(node, context["expected"]) if kind == "literal_error" else None
    return document.problem(path, f"{name} {_message(kind, detail, node)}", hint=hint)


def _bad_key(document: Document, loc: Sequence[str | int], context: dict[str, Any]) -> Problem:
    """A key that may be any name, and is none."""
    path = [part for part in loc[:-1] if not _is_tag(part)]
    mark = document.find(path[:-1]).keys.get(str(path[-1])) or document.find(path).mark
    message = f"the key '{path[-1]}' {context['text']}"
    return Problem(message, document.file, mark.line, mark.column, context["hint"] or None)


def _message(kind: str, detail: ErrorDetails, node: Node) -> str:
    """What is wrong with the value at ``node``, which is shown as it was written."""
    from lovia_cli.yamlfile.fields import describe

    got, context = describe(node.value), detail.get("ctx", {})
    if kind in _NEEDED:
        return f"needs {_NEEDED[kind]}, got {got}"
    if kind == "literal_error":
        return f"needs {context['expected']}, got {got}"
    if kind == "greater_than_equal":
        return f"must be {context['ge']:g} or more, got {got}"
    if kind == "greater_than":
        return f"must be more than {context['gt']:g}, got {got}"
    if kind == "too_short":
        return "needs at least one entry"
    return f"is not valid: {detail['msg']}"


def _nearest(node: Node, expected: str) -> str | None:
    """The value that was meant, of those that ``expected`` lists in quotes."""
    return near(node.value, expected.split("'")[1::2], otherwise=False) if isinstance(node.value, str) else None


def _unknown_key(
    root: type[Strict], owner: type[Strict], document: Document, path: Sequence[str | int], key: str
) -> Problem:
    """A key of a later version, one that belongs elsewhere, or a slip of the pen."""
    node = document.find(path[:-1])
    mark = node.keys.get(key, node.mark)
    if key in owner.later:
        message, hint = f"'{key}' is not there yet in this version of lovia", "remove it, or use a newer lovia"
        return Problem(message, document.file, mark.line, mark.column, hint)
    known = owner.model_fields
    hint_or_none = near(key, known, otherwise=False)
    if hint_or_none is None and owner is not root and (key in root.model_fields or key in root.later):
        hint_or_none = f"'{key}' belongs at the top level of the file; check the indentation"
    return Problem(
        f"unknown key '{key}' in {owner.noun}", document.file, mark.line, mark.column, hint_or_none or near(key, known)
    )


def _is_tag(part: str | int) -> bool:
    """Unions tag their members ``(name)`` so that a place in the file cannot be taken for one."""
    return isinstance(part, str) and part.startswith("(") and part.endswith(")")


def _model_at(model: type[Strict], path: Sequence[str | int]) -> type[Strict] | None:
    """The model of the mapping at ``path``, found along the annotations; None where there is none."""
    here: Any = model
    for part in path:
        here = _member(here, str(part)) if _is_tag(part) else _inner(_bare(here), part)
    here = _bare(here)
    return here if isinstance(here, type) and hasattr(here, "model_fields") else None


def _bare(annotation: Any) -> Any:
    """The annotation without its metadata and without ``| None``."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    options = [option for option in get_args(annotation) if option is not type(None)]
    if len(options) == 1 and type(None) in get_args(annotation):
        return _bare(options[0])
    return annotation


def _member(union: Any, tag: str) -> Any:
    """The member of a tagged union."""
    for option in get_args(_bare(union)):
        if any(getattr(data, "tag", None) == tag for data in getattr(option, "__metadata__", ())):
            return option
    return None


def _inner(annotation: Any, part: str | int) -> Any:
    """What stands under a key or an index."""
    if hasattr(annotation, "model_fields"):
        spec = annotation.model_fields.get(part)
        return spec.annotation if spec else None
    options = get_args(annotation)
    return options[-1] if options and get_origin(annotation) in (list, dict) else None
