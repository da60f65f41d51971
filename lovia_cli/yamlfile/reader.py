"""Text to values with places: a small, strict subset of YAML.

A scalar stays what was written. Whether an unquoted ``no``, ``012`` or ``3.10`` is text or a number is for the
field to say (`lovia_cli.yamlfile.fields`), never for YAML. What makes two readers see two documents in one file is
refused: duplicate keys, anchors, aliases, tags, merge keys, directives, keys that are no text.

The parser's events are read rather than its nodes: a stack of our own has no recursion to exhaust, and stops
at the very place where a file goes too deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lovia_cli.errors import AgentFileError, Problem
from stores.values import clean_text

MAX_BYTES = 128 * 1024
MAX_DEPTH = 50


class Plain(str):
    """A scalar written without quotes or block style; the empty one is a key without a value."""

    __slots__ = ()


class Mark(NamedTuple):
    """A place in the file; both numbers count from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """A value and its place. ``value`` is text (`Plain` when unquoted), a list or a dict of nodes.

    ``keys`` has the place of each key of a mapping.
    """

    value: str | list[Node] | dict[str, Node]
    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)

    def data(self) -> Any:
        """The values alone, without places."""
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        if isinstance(self.value, dict):
            return {key: node.data() for key, node in self.value.items()}
        return self.value

    def child(self, part: str | int) -> Node | None:
        """The value under a key or index, or None."""
        if isinstance(self.value, dict) and isinstance(part, str):
            return self.value.get(part)
        if isinstance(self.value, list) and isinstance(part, int) and part < len(self.value):
            return self.value[part]
        return None


def unplaced(value: Any) -> Node:
    """Python data as nodes, for what is checked like a file and was never one."""
    nowhere = Mark(0, 0)
    if isinstance(value, dict):
        return Node({str(key): unplaced(inner) for key, inner in value.items()}, nowhere)
    return Node([unplaced(inner) for inner in value] if isinstance(value, list) else value, nowhere)


@dataclass(slots=True)
class Document:
    """One file: its name as the user gave it, the mapping it holds, and what the reader had to refuse in it."""

    file: str
    root: Node = field(repr=False)
    problems: list[Problem] = field(default_factory=list)

    def find(self, path: Sequence[str | int]) -> Node:
        """The innermost value on the way to ``path``: where one is missing, the one that lacks it."""
        node = self.root
        for part in path:
            inner = node.child(part)
            if inner is None:
                break
            node = inner
        return node

    def problem(self, path: Sequence[str | int], message: str, *, hint: str | None = None) -> Problem:
        """A problem at the value of ``path``."""
        mark = self.find(path).mark
        return Problem(message, self.file, mark.line, mark.column, hint)

    def error(self, path: Sequence[str | int], message: str, *, hint: str | None = None) -> AgentFileError:
        """The error to raise for one problem at the value of ``path``."""
        return AgentFileError.of([self.problem(path, message, hint=hint)])


def read_document(path: Path, *, shown_as: str | None = None) -> Document:
    """Read the file at ``path``; ``shown_as`` is the name used in errors.

    Raises `AgentFileError` for what cannot be read at all; smaller faults are ``problems`` of the document.
    """
    name = shown_as or str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise AgentFileError(f"cannot read the file: {reason}", where=name, hint="check the path") from error
    return parse_document(raw, file=name)


def parse_document(raw: bytes, *, file: str) -> Document:
    """`read_document` for bytes at hand; ``file`` is the name used in errors."""
    if len(raw) > MAX_BYTES:
        raise _refusal(
            file, None, f"the file is larger than {MAX_BYTES // 1024} KB", "split it, or move long texts out"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise _refusal(file, Mark(line, column), "not valid UTF-8", "save the file as UTF-8") from error
    builder = _Builder(file)
    root = builder.build(_events(text, file))
    if isinstance(root.value, dict):
        return Document(file, root, builder.problems)
    what = "a list" if isinstance(root.value, list) else "a single value"
    raise _refusal(file, root.mark, f"the file holds {what}, not keys with values", "start with lines like 'name: ...'")


def _refusal(file: str, mark: Mark | None, message: str, hint: str | None = None) -> AgentFileError:
    line, column = (mark.line, mark.column) if mark else (None, None)
    return AgentFileError.of([Problem(message, file, line, column, hint)])


def _events(text: str, file: str) -> Iterator[Any]:
    """The parser's events; its errors become ours."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.reader import ReaderError

    last = Mark(1, 1)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            last = Mark(event.end_mark.line + 1, event.end_mark.column + 1)
            yield event
    except MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        mark = Mark(place.line + 1, place.column + 1) if place else None
        what = ", ".join(part for part in (error.context, error.problem) if part)
        raise _refusal(file, mark, f"not valid YAML: {what}") from error
    except ReaderError as error:
        before = text[: error.position]
        mark = Mark(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
        message = f"the character U+{ord(text[error.position]):04X} is not allowed here"
        raise _refusal(file, mark, message, 'write it as an escape in double quotes, such as "\\e"') from error
    except (OverflowError, ValueError) as error:  # chr() of an escape; the parser does not say where
        raise _refusal(file, last, "an escape after here stands for no character", "the last is \\U0010FFFF") from error


_OTHER_THAN_TEXT = re.compile(r"~?|null|true|false|[-+]?[0-9]+|[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?")
"""Unquoted keys that YAML 1.2 does not read as text."""


class _Builder:
    """Puts events together to nodes.

    ``open`` are the collections we are in, ``key`` the pending key of each. What can be read past is noted in
    ``problems``, so that a person sees all of a file at once; what cannot is raised.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.open: list[Node] = []
        self.key: list[str | None] = []
        self.problems: list[Problem] = []

    def build(self, events: Iterator[Any]) -> Node:
        root: Node | None = None
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                if root is not None:
                    raise _refusal(self.file, _mark(event), "a second document starts here", "keep one in a file")
                if event.version or event.tags:
                    self._note(event, "YAML directives (lines with %) are not supported", "remove them")
            elif kind in ("MappingEndEvent", "SequenceEndEvent"):
                self.open.pop()
                self.key.pop()
            elif kind in ("ScalarEvent", "MappingStartEvent", "SequenceStartEvent", "AliasEvent"):
                node = self._add(event, kind)
                root = root or node
        if root is None:
            raise _refusal(self.file, None, "the file is empty", "start with lines like 'name: ...'")
        return root

    def _add(self, event: Any, kind: str) -> Node | None:
        """Place the event's value in the collection we are in; None when it was a key."""
        self._check_decoration(event, kind)
        parent = self.open[-1] if self.open else None
        if parent is not None and isinstance(parent.value, dict) and self.key[-1] is None:
            self._take_key(event, kind, parent)
            return None
        node = Node(_empty_value(event, kind), _mark(event))
        if parent is not None:
            self._attach(parent, node)
        if kind != "ScalarEvent":
            if len(self.open) == MAX_DEPTH:
                raise _refusal(self.file, node.mark, f"nested more than {MAX_DEPTH} levels deep", "flatten it")
            self.open.append(node)
            self.key.append(None)
        return node

    def _attach(self, parent: Node, node: Node) -> None:
        """The first value of a key stays; a second one has been noted as a problem."""
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif isinstance(parent.value, dict):
            key, self.key[-1] = self.key[-1], None
            assert key is not None
            if node.value == "" and isinstance(node.value, Plain):
                node.mark = parent.keys[key]  # nothing is written; its own place is the next line
            parent.value.setdefault(key, node)

    def _take_key(self, event: Any, kind: str, parent: Node) -> None:
        if kind != "ScalarEvent":
            raise _refusal(self.file, _mark(event), "a key must be text, not a list or a mapping", "write plain text")
        key = clean_text(event.value)
        if event.style is None and key == "<<":
            self._note(event, "merge keys (<<) are not supported", "write the keys out")
        elif event.style is None and _OTHER_THAN_TEXT.fullmatch(key):
            self._note(event, f"the key {key or '(nothing)'} is not text", f'quote it: "{key}"')
        elif key in parent.keys:
            self._note(event, f"duplicate key '{key}', first on line {parent.keys[key].line}", "keep one of them")
        parent.keys.setdefault(key, _mark(event))
        self.key[-1] = key

    def _check_decoration(self, event: Any, kind: str) -> None:
        if kind == "AliasEvent":
            hint = "write the value out"
            raise _refusal(self.file, _mark(event), f"aliases (*{event.anchor}) are not supported", hint)
        if event.anchor is not None:
            self._note(event, f"anchors (&{event.anchor}) are not supported", "remove it")
        if event.tag is not None:
            self._note(event, f"tags ({event.tag}) are not supported", "remove it; the field decides the type")

    def _note(self, event: Any, message: str, hint: str) -> None:
        mark = _mark(event)
        self.problems.append(Problem(message, self.file, mark.line, mark.column, hint))


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _empty_value(event: Any, kind: str) -> str | list[Node] | dict[str, Node]:
    if kind == "ScalarEvent":
        text = clean_text(event.value)
        return Plain(text) if event.style is None else text
    return {} if kind == "MappingStartEvent" else []
