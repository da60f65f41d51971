"""The command that lets a stopped run go on, ready to be pasted into a shell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lovia_cli.cli.advice import store_option
from lovia_cli.cli.ids import is_session
from lovia_cli.errors import GuardrailTripped, InvalidOutputError, LoviaError
from lovia_cli.render.terminal import quoted
from lovia_cli.wiring import Stores
from stores.ids import as_words

if TYPE_CHECKING:
    from lovia_cli.engine.options import RunResult
    from lovia_cli.settings import StoreLocation


async def command_that_goes_on(result: RunResult, stores: Stores) -> str | None:
    """``lovia resume RUN`` with the store, and the higher limit or new input it needs; None for a completed run."""
    if result.status == "completed" or not stores.location.exists:
        return None
    try:
        words = ["lovia", "resume", *store_option(stores.location), *_higher_limit(result)]
        return " ".join([*words, await _id_words(result.run_id, stores), *_new_input(result)])
    except LoviaError:
        return None  # a store that cannot be read has been told of already


def _new_input(result: RunResult) -> list[str]:
    """Where the answer was refused the model has to be told something: without it the same answer is refused again."""
    return ["--input", "TEXT"] if isinstance(result.error, InvalidOutputError | GuardrailTripped) else []


async def command_after(result: RunResult, stores: Stores) -> str | None:
    """What a person may want next of a completed run: to go on in its session, else to look at it."""
    if result.status != "completed" or not stores.location.exists:
        return None
    store = store_option(stores.location)
    if result.session_id is not None:
        return " ".join(["lovia run", *store, session_option(result.session_id)])
    try:
        return " ".join(["lovia show", *store, await _id_words(result.run_id, stores)])
    except LoviaError:
        return None


def command_for(verb: str, run_id: str, stores: Stores) -> str:
    """``lovia VERB RUN`` with the store, as a line that can be pasted."""
    return " ".join(["lovia", verb, *store_option(stores.location), as_words(run_id)])


def command_for_begun(run_id: str, session_id: str | None, location: StoreLocation) -> str:
    """``lovia resume RUN`` for a run that was broken off: the store is not asked any more."""
    is_plain = not run_id.startswith(("run:", "session:")) and run_id != session_id
    name = run_id if is_plain else f"run:{run_id}"
    return " ".join(["lovia", "resume", *store_option(location), as_words(name)])


def session_option(session_id: str) -> str:
    """``--session ID``, ready for a shell."""
    return f"--session{'=' if session_id.startswith('-') else ' '}{quoted(session_id)}"


async def _id_words(run_id: str, stores: Stores) -> str:
    """The run's id, with its prefix where a session has the same one or the id itself looks prefixed."""
    plain = not run_id.startswith(("run:", "session:")) and not await is_session(stores, run_id)
    name = run_id if plain else f"run:{run_id}"
    return f"-- {quoted(name)}" if name.startswith("-") else quoted(name)


def _higher_limit(result: RunResult) -> list[str]:
    """The option that raises the limit that was reached: to twice its value, or what more is used up."""
    stop = result.stop or {}
    if stop.get("reason") != "limit":
        return []
    name, value = str(stop.get("limit")), float(stop.get("value") or 0)
    higher = max(2 * value, math.ceil(float(stop.get("used") or 0)) + 1)
    number = str(math.ceil(higher)) if higher >= 1 else f"{higher:g}"
    options = {"max_steps": "--max-steps", "max_cost_usd": "--max-cost"}
    return [options[name], number] if name in options else ["--limit", f"{name}={number}"]
