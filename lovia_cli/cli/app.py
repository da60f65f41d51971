"""The command line as a whole: which verb is meant, and what became of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from lovia_cli.cli.answers import Answer, RunAnswer
from lovia_cli.cli.options import Call, carry_out, parameters
from lovia_cli.cli.reader import NotPlain, read
from lovia_cli.cli.verbs import TOP, VERBS, Done
from lovia_cli.errors import UserError
from lovia_cli.render.streams import Streams
from lovia_cli.settings import OUTPUTS, Output


def answer_to(argv: Sequence[str], call: Call) -> Answer | None:
    """What the command line ``argv`` comes to; None when help was printed. Errors are answers too."""
    try:
        _refuse_undecodable(argv)
        if not argv:
            raise UserError("no command given", hint="see what there is: lovia --help")
        return _carried_out(argv, call)
    except Done as done:
        return done.answer
    except (Exception, KeyboardInterrupt) as error:
        return _failed(argv, call, error)


def _carried_out(argv: Sequence[str], call: Call) -> Answer | None:
    """What the functions return that the line names, the verb's last; typer has what is no simple line."""
    try:
        steps = _steps(argv, call)
    except NotPlain:
        from lovia_cli.cli.parser import parse

        return parse(argv, call)
    return [carry_out(step.function, call, step.values, is_verb=step.is_verb) for step in steps][-1]


class Step(NamedTuple):
    """A function of the command line, with its values."""

    function: Callable[..., Answer]
    values: dict[str, Any]
    is_verb: bool = False


def _steps(argv: Sequence[str], call: Call) -> list[Step]:
    """The functions from the whole program's down to the verb's, which ``call`` learns of. Raises `NotPlain`."""
    steps, verb, words = [], TOP, list(argv)
    while verb.below:
        reading = read(parameters(verb.function), words, verb_follows=True)
        steps.append(Step(verb.function, reading.values))
        if not reading.rest and "version" in reading.given:
            return steps
        name, *words = reading.rest or [""]
        if name not in verb.below:
            raise NotPlain
        if verb is TOP:
            call.verb = name
        verb = verb.below[name]()
    return [*steps, Step(verb.function, read(parameters(verb.function), words).values, is_verb=True)]


def _failed(argv: Sequence[str], call: Call, error: BaseException) -> RunAnswer:
    """The answer to a command that was refused, or that broke."""
    if isinstance(error, KeyboardInterrupt):
        call.departure.stand_by()  # the answer is not broken off as well
    if isinstance(error, UserError) and error.code == "usage" and error.where is None:
        error.where = f"lovia {call.verb}".rstrip()
    answer = call.failed(error)
    call.presume(output_asked(argv, call.environ))
    return answer


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
    call = _call(words)
    answer = answer_to(words, call)
    if answer is None:
        call.streams.tell_failure()
        return call.streams.exit_code
    call.finish(answer)
    return answer.exit_code or call.streams.exit_code


def stopped(argv: Sequence[str] | None = None) -> int:
    """Answer a command line that Ctrl-C came upon before it was looked at."""
    words = list(sys.argv[1:] if argv is None else argv)
    call = _call(words)
    call.finish(answer := _failed(words, call, KeyboardInterrupt()))
    return answer.exit_code


def _call(words: Sequence[str]) -> Call:
    return Call(Streams(), verb=next((word for word in words if word in VERBS), ""))
