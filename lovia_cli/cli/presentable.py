"""An error as people and scripts are shown it: one of ours, without what is to be hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stores.errors import LoviaError
from stores.values import exception_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia_cli.errors import Problem


class InternalError(LoviaError):
    """A mistake of ours."""

    code = "internal"


def presentable(error: BaseException, hide: Callable[[str], str]) -> LoviaError:
    """A twin of the error, its texts passed through ``hide``; one that is none of ours reads as an internal one."""
    shown = _ours(error)
    shown.message = hide(shown.message)
    shown.where = hide(shown.where) if shown.where else None
    shown.hint = hide(shown.hint) if shown.hint else None
    problems: Sequence[Problem] = getattr(shown, "problems", ())
    if problems:
        told: Any = shown
        told.problems = tuple(replace(problem, message=hide(problem.message)) for problem in problems)
    return shown


def _ours(error: BaseException) -> LoviaError:
    if isinstance(error, LoviaError):
        twin = type(error).__new__(type(error), *error.args)  # not copy(): an error's own __init__ takes other things
        twin.__dict__.update(error.__dict__)
        return twin
    if isinstance(error, KeyboardInterrupt):
        return LoviaError("stopped by SIGINT")
    if isinstance(error, MemoryError):
        return LoviaError("out of memory", hint="give the process more (ulimit -v), then run the same command again")
    text = f"internal error: {exception_text(error)}"
    return InternalError(text, hint="run it again with --debug, and report what it prints")
