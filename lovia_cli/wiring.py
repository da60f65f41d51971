"""The only place that names concrete stores and models: from settings and files to the parts the engine runs on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from stores.errors import LoviaError

if TYPE_CHECKING:
    from lovia_cli.agent import Agent
    from lovia_cli.models.base import Model
    from lovia_cli.models.spec import ModelFactory, ModelSpec
    from lovia_cli.settings import StoreLocation
    from stores.findings import Finding
    from stores.known import KnownIds
    from stores.protocols import Checkpointer, History, ResultStore, RunIndex, RunLog, Session, SessionIndex

    class RunStore(Checkpointer, RunIndex, History, RunLog, Protocol):
        """What the command line asks of a store of runs: all there is."""

    class SessionStore(Session, SessionIndex, Protocol):
        """What the command line asks of a store of sessions."""

    class Archive(ResultStore, Protocol):
        """What the command line asks of a store of archived outputs."""

        def is_begun(self) -> bool:
            """True once an output was archived."""
            ...


@dataclass(slots=True, frozen=True)
class Stores:
    """The runs, sessions and archived outputs of one place. Opening creates nothing; the first save does."""

    location: StoreLocation
    runs: RunStore
    sessions: SessionStore
    results: Archive | None

    @property
    def archive(self) -> ResultStore | None:
        """The archived outputs, where there are any: only then is the model offered a tool that recalls them (M2)."""
        return self.results if self.results and self.results.is_begun() else None


def open_stores(location: StoreLocation) -> Stores:
    """The stores at ``location``, there or not."""
    if location.kind == "sqlite":
        from stores.sqlite import SQLiteStore

        database = SQLiteStore(location.path)
        return Stores(location, database.checkpointer, database.session, database.results)
    from stores.file import FileStore

    folder = FileStore(location.path)
    return Stores(location, folder.checkpointer, folder.session, folder.results)


def check_writable(location: StoreLocation) -> None:
    """Raise `StoreError` where nothing could be saved, as far as that can be seen without trying."""
    from stores.errors import StoreError, StoreWriteError

    path, hint = location.path, "name another store with --store or LOVIA_STORE"
    if location.kind == "sqlite":
        if path.is_file() and not os.access(path, os.W_OK):
            raise StoreWriteError(f"the store cannot be written: {path} is read-only", where=str(location), hint=hint)
        path = path.parent  # a journal is made beside the file
    path = next(path for path in (path, *path.parents) if path.exists())
    if not path.is_dir():
        raise StoreError(f"the store cannot be made: {path} is no folder", where=str(location), hint=hint)
    if not os.access(path, os.W_OK | os.X_OK):
        raise StoreWriteError(f"the store cannot be written: {path} is read-only", where=str(location), hint=hint)


async def check_model(model: Model) -> list[str]:
    """Raise what would keep the model from being asked at all, such as a missing key. Asks nobody.

    Of several that stand in for each other one is enough; what keeps the others from being asked is returned.
    """
    from lovia_cli.models.base import asked
    from lovia_cli.models.faults import all_refused

    candidates = asked(model)
    errors: dict[str, LoviaError] = {}
    for one in candidates:
        try:
            await one.check() if hasattr(one, "check") else None
        except LoviaError as error:
            errors[one.id] = error
    if len(errors) == len({one.id for one in candidates}):
        name, first = next(iter(errors.items()))
        first.where = first.where or f"model {name}"
        raise (len(errors) > 1 and all_refused([*errors.values()])) or first
    return [f"{name} cannot be asked: {error.message}" for name, error in errors.items()]


def make_store(location: StoreLocation) -> None:
    """An empty store at ``location``, where there is none."""
    from stores.file.root import Root

    Root(location.path).ensure()


def known_ids(location: StoreLocation) -> KnownIds:
    """The ids of runs and sessions that a shell can complete, without reading any run."""
    if location.kind == "sqlite":
        from stores.sqlite.known import known_ids
    else:
        from stores.file.known import known_ids
    return known_ids(location.path)


def check_store(location: StoreLocation, *, repair: bool) -> list[Finding]:
    """All that is wrong with the store; with ``repair``, what was wrong, and what could be mended is."""
    if location.kind == "sqlite":
        from stores.sqlite.doctor import check as database

        return database.repair(location.path) if repair else database.check(location.path)
    from stores.file.doctor import check as folder

    return folder.repair(location.path) if repair else folder.check(location.path)


def model_factories() -> dict[str, ModelFactory]:
    """The providers by the name that stands before the colon; each loads its library when it is first asked."""
    from lovia_cli.models.registry import provider_factories

    return {**provider_factories(), "scripted": _scripted}


def _scripted(spec: ModelSpec, folder: Path) -> Model:
    from lovia_cli.models.scripted import ScriptedModel

    return ScriptedModel.from_file(spec.name, base_dir=folder)


def load_agent(
    path: Path,
    *,
    variables: Mapping[str, Any] | None = None,
    model: str | None = None,
    is_offline: bool = False,
    learn: Callable[[list[str]], object] = len,
) -> Agent:
    """The agent of the file at ``path``, with its variables checked. Raises `AgentFileError` with all problems.

    ``model`` takes the place of the file's, as ``provider:name``. ``is_offline``: no tool of it is going to run, so the
    environment need not have what they name. ``learn`` is told the names of the environment variables that the file
    names, before any code of its tools is loaded.
    """
    from lovia_cli.agentfile import build_agent, load_agent_file
    from lovia_cli.models.spec import ModelSpec

    instead = ModelSpec.parse(model) if model is not None else None
    spec = load_agent_file(path)
    learn(spec.environment_names())
    environ = {**dict.fromkeys(spec.environment_names(), ""), **os.environ} if is_offline else None
    return build_agent(
        spec,
        models=model_factories(),
        model=instead,
        variables=variables or {},
        environ=environ,
        is_offline=is_offline,
    )


def check_agent(path: Path, learn: Callable[[list[str]], object] = len) -> None:
    """Raise `AgentFileError` with all that is wrong with the file at ``path``.

    Its tools' modules are imported; variables and the environment are left for the run to give. ``learn`` as above.
    """
    from lovia_cli.agentfile import check_agent_file

    check_agent_file(path, models=model_factories(), learn=learn)


def absolute_model(model: str, folder: Path) -> str:
    """``--model`` so that it means the same from anywhere: a script's path, given from ``folder``, becomes absolute."""
    provider, colon, name = model.partition(":")
    place = folder / name
    return f"{provider}:{place.resolve()}" if provider == "scripted" and colon and place.is_file() else model
