"""Which agent file a command runs, and what was saved with the run that it goes on with (Z8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lovia_cli.cli.ids import Thing, session_named
from lovia_cli.errors import AgentFileError, UserError
from lovia_cli.wiring import Stores

AGENT_FILE = "agent.yaml"
_SUFFIXES = (".yaml", ".yml")


@dataclass(slots=True, frozen=True)
class Saved:
    """What a stored run was started with: its agent file, variables and model."""

    agent_file: str | None = None
    variables: dict[str, Any] = field(default_factory=dict)
    model: str | None = None

    @staticmethod
    def of(config: Any) -> Saved:
        """Lenient: a record may lack any of it (D2)."""
        if not isinstance(config, dict):
            return Saved()
        file, variables, model = config.get("agent_file"), config.get("variables"), config.get("model")
        return Saved(
            file if isinstance(file, str) else None,
            variables if isinstance(variables, dict) else {},
            model if isinstance(model, str) else None,
        )


def is_agent_file(word: str) -> bool:
    """True for a positional argument that is the agent file and not the input."""
    return word.endswith(_SUFFIXES)


async def past_of(stores: Stores, run_id: str | None, session_id: str | None) -> Thing:
    """What a model is given that goes on: the stored run, if it is named, and the session it is in."""
    info = await stores.runs.info(run_id) if run_id is not None else None
    session_id = session_id if session_id is not None else info.session_id if info else None
    session = await session_named(stores, session_id) if session_id is not None else None
    return replace(session or Thing(), run=info)


def saved_for_run(past: Thing, run_id: str | None) -> tuple[Saved, Saved]:
    """What the run that `lovia run` would go on with was started with, and what its session last ran with.

    The first is empty when a new run is going to start.
    """
    info = past.unfinished[0] if run_id is None and past.unfinished else past.run
    own = Saved.of(info.config) if info else Saved()
    if own.agent_file or not past.segments:
        return own, own
    told = next((segment.told for segment in reversed(past.segments) if segment.told), {})
    return own, Saved.of(told.get("config"))


def find_agent(given: str | None, last: Saved, stores: Stores, environ: Mapping[str, str]) -> Path:
    """The file given, else ``$LOVIA_AGENT``, else what the session last ran with, else ``agent.yaml``."""
    if given is not None:
        return existing(Path(given), "the command line", given_as_file_hint(given))
    if named := environ.get("LOVIA_AGENT"):
        return existing(Path(named), "LOVIA_AGENT", "set it to an agent file, or name one: lovia run AGENT.yaml")
    if last.agent_file:
        return existing(Path(last.agent_file), "the session's last run", "name the agent file: lovia run AGENT.yaml")
    for folder in (Path.cwd(), stores.location.path.parent):
        if (folder / AGENT_FILE).is_file():
            return folder / AGENT_FILE
    raise UserError(
        "no agent file given, and there is no agent.yaml",
        where=f"looked in {Path.cwd()} and beside {stores.location}",
        hint="name one: lovia run AGENT.yaml INPUT",
    )


def given_as_file_hint(given: str) -> str:
    """A text that happens to end in .yaml is taken for the file."""
    if " " in given:
        return f"to send it as the input, name the agent file before it: lovia run {AGENT_FILE} INPUT"
    return "check the path"


def existing(path: Path, source: str, hint: str) -> Path:
    """The absolute path of a file that is there."""
    try:
        if path.is_file():
            return path.absolute()
        reason = "is no file" if path.exists() else "does not exist"
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {error}"
    raise AgentFileError(f"the agent file {path} {reason}", where=source, hint=hint)


def agent_of_run(given: str | None, saved: Saved, run_id: str, command: str) -> Path:
    """The agent file of a stored run: the one given, else the one it was started with."""
    if given is not None:
        return existing(Path(given), "--agent", "check the path")
    if saved.agent_file is None:
        raise UserError(f"run {run_id!r} was started without an agent file", hint=f"name one: {command}")
    return existing(Path(saved.agent_file), f"saved with run {run_id}", f"name the file where it is now: {command}")
