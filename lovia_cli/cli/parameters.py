"""What a verb takes, as its function declares it: ``Annotated[int | None, Option("--step", help="...")] = None``.

Plain data, read twice: `lovia_cli.cli.reader` takes a command line that is right to its values, and
`lovia_cli.cli.parser` makes typer's commands of it, which print the help and say what is wrong with one that is not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin


class Argument(NamedTuple):
    """A positional word, named ``metavar`` in the help."""

    metavar: str
    help: str
    show_default: bool = True


class Option:
    """``--name VALUE``, or a flag where the type is bool; ``count`` for one that says more each time it is given."""

    __slots__ = ("count", "help", "metavar", "names", "show_default")

    def __init__(
        self, *names: str, help: str, metavar: str | None = None, count: bool = False, show_default: bool = True
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.count = count
        self.show_default = show_default


class Parameter(NamedTuple):
    """One parameter of a verb's function. ``kind`` is the type of its value, of each value where there are ``many``."""

    name: str
    declared: Argument | Option
    annotation: Any
    kind: type
    many: bool
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def takes_value(self) -> bool:
        """False for an option that is only there or not, or counted."""
        return self.kind is not bool and not (isinstance(self.declared, Option) and self.declared.count)


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """What ``function`` declares; parameters without a declaration, such as the call itself, are not the user's."""
    signature = inspect.signature(function, eval_str=True)
    return [_parameter(one) for one in signature.parameters.values() if hasattr(one.annotation, "__metadata__")]


def _parameter(one: inspect.Parameter) -> Parameter:
    """The kind is ``int`` for ``int | None``, and for ``list[int]``."""
    annotation, declared = get_args(one.annotation)
    choices = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    [single] = [choice for choice in choices if choice is not NoneType]
    many = get_origin(single) is list
    return Parameter(one.name, declared, annotation, get_args(single)[0] if many else single, many, one.default)
