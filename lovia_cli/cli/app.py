"""The command line as a whole: which verb is meant, and what became of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from lovia_cli import __version__
from lovia_cli.cli.answers import Answer, RunAnswer, Told
from lovia_cli.cli.options import Call, with_globals
from lovia_cli.errors import UserError
from lovia_cli.render.streams import Streams
from lovia_cli.settings import OUTPUTS, Output

VERBS = (
    "init", "validate", "schema", "run", "resume", "cancel", "history", "show", "rewind", "trim", "rm", "prune",
    "doctor", "runs", "completion",
)  # fmt: skip
EXECUTING = frozenset({"run", "resume"})
"""The verbs that execute a run: their ndjson is its events, also on failure."""


class Verbs(TyperGroup):
    """The verbs by name; a verb's module is imported when it is the one that is meant."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = dict.fromkeys(VERBS, self)  # the names, for listings and near matches

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is typer's
        return _command(cmd_name) if cmd_name in VERBS else None


def _command(verb: str) -> Any:
    """What ``lovia_cli/cli/VERB.py`` calls COMMAND, or COMMANDS where the verb has verbs of its own."""
    module = import_module(f"lovia_cli.cli.{verb}")
    commands: dict[str, Callable[..., Answer]] | None = getattr(module, "COMMANDS", None)
    app = _typer()
    if commands is None:
        app.command(verb)(with_globals(module.COMMAND))
    else:
        app.callback(help=module.__doc__)(with_globals(_nothing, is_verb=False))
        for name, function in commands.items():
            app.command(name)(with_globals(function))
    return typer.main.get_command(app)


def _nothing(_call: Call) -> Answer:
    """A verb with verbs of its own does nothing by itself."""
    return Told(message="")


def _typer(**settings: Any) -> typer.Typer:
    context = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=context,
        **settings,
    )


def _root(_call: Call, version: bool = typer.Option(False, "--version", help="Print the version.")) -> Answer:
    """Durable LLM agents from YAML: a run survives a crash, a kill, a full disk, a restart.

    Start: lovia run AGENT.yaml "what to do" --session NAME. Go on after anything: lovia resume RUN.
    """
    if version:
        raise Done(Told(message=f"lovia {__version__}", data={"version": __version__}))
    return Told(message="")


class Done(Exception):  # noqa: N818 - no error: the answer is there before a verb is looked at
    """Carries an answer past the parser."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


def answer_to(argv: Sequence[str], call: Call) -> Answer | None:
    """What the command line ``argv`` comes to; None when help was printed. Errors are answers too."""
    app = _typer(cls=Verbs, invoke_without_command=True)
    app.callback()(with_globals(_root, is_verb=False))
    try:
        _refuse_undecodable(argv)
        if not argv:
            raise UserError("no command given", hint="see what there is: lovia --help")
        answer = typer.main.get_command(app).main(list(argv), prog_name="lovia", standalone_mode=False, obj=call)
    except Done as done:
        return done.answer
    except (Exception, KeyboardInterrupt) as error:
        return _failed(argv, call, _usage(error) if isinstance(error, typer.TyperException) else error)
    if answer == 130:  # how typer tells of a KeyboardInterrupt
        return _failed(argv, call, KeyboardInterrupt())
    return None if isinstance(answer, int) else answer


def _failed(argv: Sequence[str], call: Call, error: BaseException) -> RunAnswer:
    """The answer to a command that was refused, or that broke."""
    store = str(call.settings.store) if call.is_settled else None
    call.presume(output_asked(argv, call.environ))
    if isinstance(error, UserError) and error.code == "usage" and error.where is None:
        error.where = f"lovia {call.verb}".rstrip()
    is_run = call.verb in EXECUTING and not call.is_dry
    return RunAnswer(store=store, error=error, run_id=call.run_id, session_id=call.session_id, is_run=is_run)


def _usage(error: Any) -> UserError:
    """typer's own refusal in our words: what, where, and which help to read."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "lovia"
    message = error.format_message().strip().rstrip(".")
    return UserError(message[:1].lower() + message[1:], where=command, hint=f"see: {command} --help")


def _refuse_undecodable(argv: Sequence[str]) -> None:
    """Bytes that are no text in this locale would be stored as something else (C15)."""
    for number, word in enumerate(argv, 1):
        try:
            word.encode("utf-8")
        except UnicodeEncodeError:
            raise UserError(
                f"argument {number} is not valid text in this locale: {word!a}", hint="pass valid UTF-8"
            ) from None


def output_asked(argv: Sequence[str], environ: Any) -> Output:
    """How to print when the options could not be read: what was asked for, as far as it can be seen."""
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    for word, following in pairwise([*words, ""]):
        value = following if word in ("-o", "--output") else word.removeprefix("-o").removeprefix("--output=")
        if word == "--json" or ((word.startswith("-o") or word.startswith("--output")) and value in ("json", "ndjson")):
            return "ndjson" if value == "ndjson" else "json"
    named = environ.get("LOVIA_OUTPUT")
    return named if named in OUTPUTS else "text"


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command line, print what it comes to, and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    call = Call(Streams(), verb=next((word for word in words if word in VERBS), ""))
    answer = answer_to(words, call)
    if answer is None:
        return 0
    call.finish(answer)
    return answer.exit_code or call.streams.exit_code
