"""typer's view of the same commands: it prints the help, and says what is wrong with a command line.

It is imported where `lovia_cli.cli.reader` has given up, and nowhere else.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lovia_cli.cli.answers import Answer
from lovia_cli.cli.options import Call, carry_out, parameters
from lovia_cli.cli.parameters import Option, Parameter
from lovia_cli.cli.verbs import VERBS, root, verb_named
from lovia_cli.errors import UserError


class Verbs(TyperGroup):
    """The verbs by name; a verb's module is imported when it is the one that is meant."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = dict.fromkeys(VERBS, self)  # the names, for listings and near matches

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        if ctx and ctx.obj:
            ctx.obj.verb = cmd_name
        return _command(cmd_name)


def parse(argv: Sequence[str], call: Call) -> Answer | None:
    """What the command line comes to; None when help was printed. Raises `UserError` for what is wrong with it."""
    app, printed = _typer(cls=Verbs), io.StringIO()
    app.callback()(_command_function(root, is_verb=False))
    try:
        with redirect_stdout(printed):
            meant = typer.main.get_command(app).main(list(argv), prog_name="lovia", standalone_mode=False, obj=call)
    except typer.TyperException as error:
        raise _usage(error) from error
    if meant == 130:  # how typer tells of a KeyboardInterrupt
        raise KeyboardInterrupt
    call.streams.out.text(printed.getvalue())
    return meant() if callable(meant) else None


def _command(name: str) -> Any:
    verb, app = verb_named(name), _typer()
    if verb.below:
        app.callback(help=verb.help)(_command_function(verb.function, is_verb=False))
        for inner, make in verb.below.items():
            app.command(inner)(_command_function(make().function))
    else:
        app.command(name)(_command_function(verb.function))
    return typer.main.get_command(app)


def _typer(**settings: Any) -> typer.Typer:
    context = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=context,
        **settings,
    )


_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _command_function(function: Callable[..., Answer], *, is_verb: bool = True) -> Callable[..., Any]:
    """The function that typer calls in place of ``function(call, ...)``, with the global options among its own.

    A verb is not carried out within typer, which takes what it prints for its help; it returns what does that.
    """

    def command(*, context: typer.Context, **values: Any) -> Answer | Callable[[], Answer]:
        if is_verb:
            return partial(carry_out, function, context.obj, values)
        return carry_out(function, context.obj, values, is_verb=False)

    taken = [_CONTEXT, *map(_as_typer_reads_it, parameters(function))]
    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined] # typer reads it
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return command


def _as_typer_reads_it(parameter: Parameter) -> inspect.Parameter:
    declared = parameter.declared
    shown: dict[str, Any] = {
        "metavar": declared.metavar, "help": declared.help, "show_default": declared.show_default
    }  # fmt: skip
    if isinstance(declared, Option):
        info: Any = typer.Option(*declared.names, count=declared.count, **shown)
    else:
        info = typer.Argument(**shown)
    return inspect.Parameter(
        parameter.name, _CONTEXT.kind, default=parameter.default, annotation=Annotated[parameter.annotation, info]
    )


def _usage(error: Any) -> UserError:
    """typer's own refusal in our words: what, where, and which help to read."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "lovia"
    message = error.format_message().strip().rstrip(".")
    return UserError(message[:1].lower() + message[1:], where=command, hint=f"see: {command} --help")
