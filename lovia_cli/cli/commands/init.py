"""``lovia init``: an agent to begin with, which runs offline at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument, Option
from lovia_cli.errors import ConflictError, UserError
from lovia_cli.render.terminal import quoted
from lovia_cli.settings import StoreLocation, locate_store

TEMPLATES = {
    "basic": ("one tool", "Where is order 1001?"),
    "tools": ("Python tools, a shell tool, a parameter", "Is there enough of everything?"),
}
"""The templates, each with what it shows and an input for its first run."""

LATER = frozenset({"team"})
"""Templates that need what this version has not."""

FOLDER = Path(__file__).parents[2] / "templates"


def init(
    call: Call,
    folder: Annotated[str, Argument(metavar="[DIR]", help="Where to; made when missing.")] = ".",
    template: Annotated[str, Option("--template", metavar="|".join(TEMPLATES), help="What to begin with.")] = "basic",
) -> Answer:
    """Write an agent to begin with: agent.yaml, its tools, and a script that stands in for the model.

    Nothing is ever overwritten: when one of the files exists, nothing is written at all.
    """
    source = _source(template)
    place = Path(folder)
    files = sorted(path.name for path in source.iterdir() if path.is_file())
    _refuse_existing(place, files)
    _write(source, place, files)
    location = call.settings.store
    if location.origin in ("found", "default"):
        _make_store(place)  # else the store is named by the caller, and made by the first run
    command = _next_command(folder, location, TEMPLATES[template][1])
    return Told(
        message="\n".join([*(f"wrote {place / name}" for name in files), "run it, offline:", f"  {command}"]),
        data={"folder": str(place.absolute()), "files": files, "template": template, "next": command},
    )


COMMAND = init


def _source(template: str) -> Path:
    """The template's folder."""
    if template in LATER:
        raise UserError(
            f"the template {template!r} is not there yet in this version of lovia",
            hint="use one of: " + ", ".join(TEMPLATES),
        )
    if template not in TEMPLATES:
        raise UserError(f"there is no template {template!r}", hint="use one of: " + ", ".join(TEMPLATES))
    return FOLDER / template


def _refuse_existing(place: Path, files: list[str]) -> None:
    """Raise when writing would touch anything; a link that leads nowhere is a file too."""
    if os.path.lexists(place) and not place.is_dir():
        hint = "choose another: lovia init DIR"
        raise ConflictError(f"{place} exists and is no folder", where=str(place), hint=hint)
    there = [name for name in files if os.path.lexists(place / name)]
    if there:
        raise ConflictError(
            f"nothing written, because there is already: {', '.join(there)}",
            where=str(place),
            hint="choose an empty folder: lovia init DIR",
        )


def _write(source: Path, place: Path, files: list[str]) -> None:
    """Copy the files; none of them stays when one cannot be written."""
    written: list[Path] = []
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in files:
            with (place / name).open("xb") as out:
                written.append(place / name)
                out.write((source / name).read_bytes())
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise ConflictError(f"{error.filename} has just been made by another program", hint="try again") from error
        raise UserError(
            f"cannot write there: {error.strerror}", where=str(place), hint="choose another folder: lovia init DIR"
        ) from error


def _make_store(place: Path) -> None:
    """The folder's own store, found from every folder below it; none where one is found already."""
    from lovia_cli.wiring import make_store

    location = locate_store(None, {}, place.absolute())
    if location.origin == "default":
        make_store(location)


def _next_command(folder: str, location: StoreLocation, text: str) -> str:
    """What to type now, in the same shell."""
    run = f'lovia run agent.yaml "{text}"'
    if location.origin == "flag":
        run += f" --store {quoted(str(location))}"
    if Path(folder).resolve() == Path.cwd():
        return run
    return f"cd {quoted(folder if not folder.startswith('-') else f'./{folder}')} && {run}"
