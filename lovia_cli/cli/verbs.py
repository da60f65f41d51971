"""The verbs by name, and the functions behind them. A verb's module is imported when it is the one that is meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from lovia_cli import __version__
from lovia_cli.cli import grammar
from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option

_MODULES = {"import": "importing"}
"""A verb that is a word of Python itself."""

VERBS = tuple(dict.fromkeys(name.split()[0] for name in grammar.VERBS))


class Done(Exception):  # noqa: N818 - no error: it carries an answer
    """Carries an answer past what would have come of the command line otherwise."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


def root(_call: Call, version: Annotated[bool, Option("--version", help="Print the version.")] = False) -> Answer:
    """Durable LLM agents from YAML: a run survives a crash, a kill, a full disk, a restart.

    Start: lovia run AGENT.yaml "what to do" --session NAME. Go on after anything: lovia resume RUN.
    """
    if version:
        raise Done(Told(message=f"lovia {__version__}", data={"version": __version__}))
    return Told(message="")


def nothing(_call: Call) -> Answer:
    """A verb with verbs of its own does nothing by itself."""
    return Told(message="")


class Verb(NamedTuple):
    """A function with the verbs that stand ``below`` it, each made when it is the one that is meant."""

    function: Callable[..., Answer]
    below: Mapping[str, Callable[[], Verb]] = MappingProxyType({})
    help: str | None = None


def verb_named(name: str) -> Verb:
    """What ``lovia_cli/cli/commands/NAME.py`` calls COMMAND, or COMMANDS where the verb has verbs of its own."""
    module: Any = import_module(f"lovia_cli.cli.commands.{_MODULES.get(name, name)}")
    if hasattr(module, "COMMAND"):
        return Verb(module.COMMAND)
    return Verb(
        nothing, {inner: partial(Verb, function) for inner, function in module.COMMANDS.items()}, module.__doc__
    )


TOP = Verb(root, {name: partial(verb_named, name) for name in VERBS})
"""The whole program."""
