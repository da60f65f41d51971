"""``lovia export``: a run or a session as a file to hand on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

from lovia_cli.cli.agents import Saved
from lovia_cli.cli.answers import Answer, Document
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.ids import thing_meant
from lovia_cli.cli.naming import Last, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument, Option
from lovia_cli.cli.secrets import known_values
from lovia_cli.engine.transfer import export_run, outputs_promised
from lovia_cli.environment import names_in
from lovia_cli.errors import LoviaError, UserError
from lovia_cli.render.words import counted
from lovia_cli.wiring import Stores, open_stores
from stores.exchange import Exported, SessionRecord, document_of, lines_of, record_of, sealed
from stores.records import RunSnapshot, Status

FORMATS = ("jsonl", "json", "md", "html", "scripted")


def export(
    call: Call,
    name: Annotated[str | None, Argument(metavar="ID", help="A run, or a session.", show_default=False)] = None,
    last: Last = False,
    format: Annotated[
        str, Option("--format", metavar="|".join(FORMATS), help="scripted is a model that plays the run again.")
    ] = "jsonl",
    redact: Annotated[
        bool, Option("--redact", help="Also without what looks like a key, and what the agent file's variables hold.")
    ] = False,
) -> Answer:
    """Print a run, or a session with its finished runs, to be kept in a file.

    jsonl and json are for lovia import, md and html for people. scripted is a script for the scripted model: with it
    and the same tools, lovia run plays the recorded run again, offline. What a variable of the environment holds that
    is named like a secret, or that the agent file names, is never printed.
    """
    if format not in FORMATS:
        raise UserError(f"unknown format {format!r}", where="--format", hint="use one of: " + ", ".join(FORMATS))
    return drive_stores(_export(call, named(name, last), format, redact))


COMMAND = export


async def _export(call: Call, name: str | None, format: str, redact: bool) -> Answer:
    stores = open_stores(call.settings.store)
    record, status = await _record(call, stores, name)
    document = document_of(record)
    if (redacted := _redacted(call, record, document, redact)) is not None:
        document, record = redacted, record_of(redacted, "the redacted export")
    if isinstance(record, RunSnapshot) and status is not None:
        record.head.status = status
    if format == "scripted":
        return await _scripted(call, stores, record)
    if count := len(outputs_promised(record)):
        stay, them = ("stays", "it") if count == 1 else ("stay", "them")
        outputs = f"{counted(count, 'archived output')} {stay} behind"
        call.note(f"{outputs}: elsewhere, recall_tool_result cannot give {them} back")
    return _ANSWERS[format](record, document)


async def _record(call: Call, stores: Stores, name: str | None) -> tuple[Exported, str | None]:
    """The run or the session, and the status that the run has for whoever looks at it now (R3)."""
    thing = await thing_meant(stores, name)
    if thing.run is None:
        for run in thing.unfinished:
            what = "is not in it yet" if run.status == Status.COMPLETED else f"is {run.status}, and no part of it"
            what = f"cannot be read: {run.damage}" if run.damage else f"{what}: export it by its own id"
            call.note(f"run {run.run_id} of this session {what}")
        return SessionRecord(session_id=thing.session_id, segments=thing.segments), None
    call.run_id, call.session_id = thing.run.run_id, thing.run.session_id
    return await export_run(thing.run.run_id, checkpointer=stores.runs), thing.run.status


def _redacted(call: Call, record: Exported, document: dict[str, Any], redact: bool) -> dict[str, Any] | None:
    """The document without secrets; None when there is none in it."""
    from lovia_cli.cli.redacting import Redactor

    configs = list(_configs(record))
    names = {name for config in configs for name in names_in(config)}
    if redact:
        names |= _named_now(call, {file for config in configs if (file := Saved.of(config).agent_file)})
    redactor = Redactor(known_values(call.environ, names), shapes=redact)
    redacted: dict[str, Any] = redactor.export(document)
    if not redactor.count:
        return None
    call.note(f"{counted(redactor.count, 'secret')} left out")
    return redacted


def _named_now(call: Call, files: set[str]) -> set[str]:
    """The variables that the agent files name as they are today. One may be gone, or cannot be read any more."""
    from lovia_cli.agentfile import load_agent_file

    names: set[str] = set()
    for file in sorted(files):
        try:
            names.update(load_agent_file(file).environment_names())
        except (LoviaError, OSError):
            call.note(f"the agent file {file} cannot be read, so the variables that it names are not known")
    return names


def _configs(record: Exported) -> Iterator[Any]:
    """What the runs were started with."""
    if isinstance(record, RunSnapshot):
        yield record.head.config
    else:
        yield from (segment.told.get("config") for segment in record.segments)


def _jsonl(_: Exported, document: dict[str, Any]) -> Document:
    from lovia_cli.render.json import dumps

    lines = list(lines_of(document))
    return Document(text="\n".join(dumps(line).decode() for line in lines), data=sealed(document), lines=lines)


def _json(record: Exported, document: dict[str, Any]) -> Document:
    from lovia_cli.render.json import pretty

    return Document(text=pretty(sealed(document)), data=sealed(document), lines=_jsonl(record, document).lines)


def _md(record: Exported, _: dict[str, Any]) -> Document:
    from lovia_cli.render.markdown import markdown

    return _page("md", markdown(record))


def _html(record: Exported, _: dict[str, Any]) -> Document:
    from lovia_cli.render.page import transcript_page

    return _page("html", transcript_page(record))


def _page(format: str, text: str) -> Document:
    return Document(text=text.rstrip("\n"), data={"v": 1, "exit_code": 0, "format": format, "text": text})


_ANSWERS: dict[str, Callable[[Exported, dict[str, Any]], Document]] = {
    "jsonl": _jsonl,
    "json": _json,
    "md": _md,
    "html": _html,
}


async def _scripted(call: Call, stores: Stores, record: Exported) -> Document:
    from lovia_cli.models.recorded import given_later, script_of
    from lovia_cli.render.json import pretty

    if not isinstance(record, RunSnapshot):
        raise UserError(
            "a script plays one run, and this is a session", hint="export one of its runs: lovia history ID"
        )
    script = script_of(record, await stores.runs.history(record.run_id))
    for step in given_later(record):
        call.note(
            f"the run was given more input after step {step}; a script cannot send it: send it to the run that plays "
            f"this with lovia fork RUN --from-step {step} --append-input TEXT --run"
        )
    return Document(text=pretty(script), data=script)
