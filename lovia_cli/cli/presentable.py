"""An error as people and scripts are shown it: one of ours, without the value of any secret."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lovia_cli.cli.secrets import hidden
from stores.errors import LoviaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia_cli.errors import Problem


class InternalError(LoviaError):
    """A mistake of ours."""

    code = "internal"


def presentable(error: BaseException) -> LoviaError:
    """A twin of the error that shows no secret; one that is none of ours reads as an internal one."""
    shown = _ours(error)
    shown.message = hidden(shown.message)
    shown.where = hidden(shown.where) if shown.where else None
    shown.hint = hidden(shown.hint) if shown.hint else None
    problems: Sequence[Problem] = getattr(shown, "problems", ())
    if problems:
        told: Any = shown
        told.problems = tuple(replace(problem, message=hidden(problem.message)) for problem in problems)
    return shown


def _ours(error: BaseException) -> LoviaError:
    if isinstance(error, LoviaError):
        twin = type(error).__new__(type(error), *error.args)  # not copy(): an error's own __init__ takes other things
        twin.__dict__.update(error.__dict__)
        return twin
    if isinstance(error, KeyboardInterrupt):
        return LoviaError("stopped by SIGINT")
    text = f"internal error: {type(error).__name__}: {error}"
    return InternalError(text, hint="run it again with --debug, and report what it prints")
