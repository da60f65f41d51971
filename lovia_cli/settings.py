"""Where the store is and how to print: flag before environment before default, decided in one place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stores.errors import UserError

Output = Literal["text", "json", "ndjson", "github"]
Origin = Literal["flag", "env", "found", "default"]
StoreKind = Literal["file", "sqlite"]

STORE_NAME = ".lovia"
OUTPUTS: tuple[Output, ...] = ("text", "json", "ndjson")
CHECK_OUTPUTS: tuple[Output, ...] = (*OUTPUTS, "github")
"""Those of `lovia validate`: its findings can be annotations of a GitHub workflow."""
_KINDS: dict[str, StoreKind] = {"file": "file", "sqlite": "sqlite"}
_USE = "use PATH, file:PATH or sqlite:PATH"
_DATABASE = b"SQLite format 3\0"
"""What a database file begins with."""
_SCHEME = r"(?s)([A-Za-z][A-Za-z0-9+]+):(.*)"
_PASSWORD = r"(?si)(?<=:).*(?=@)|(?<=password=)[^&]*"
"""In what stands behind a URL's user name; a password with an ``@`` or a ``/`` of its own goes whole."""


@dataclass(slots=True, frozen=True)
class StoreLocation:
    """A store that may or may not be there yet. ``origin`` is what named it; ``given`` is what was written."""

    path: Path
    origin: Origin
    given: str = ""
    kind: StoreKind = "file"

    @property
    def exists(self) -> bool:
        return self.path.is_dir() if self.kind == "file" else self.path.is_file()

    def __str__(self) -> str:
        """What ``--store`` takes, from anywhere."""
        return str(self.path) if self.kind == "file" else f"{self.kind}:{self.path}"


@dataclass(slots=True, frozen=True, kw_only=True)
class Settings:
    """The global options of one command, decided."""

    store: StoreLocation
    output: Output = "text"
    quiet: bool = False
    verbose: int = 0
    color: bool = True
    plain_terminal: bool = False
    """True for a terminal that takes no sequences at all (``TERM=dumb``)."""
    debug: bool = False


def locate_store(flag: str | None, environ: Mapping[str, str], cwd: Path) -> StoreLocation:
    """``--store`` > ``LOVIA_STORE`` > the nearest ``.lovia`` upward > ``./.lovia``. Looks, and creates nothing."""
    if flag is not None:
        return _named_store(flag, "--store", "flag", cwd)
    if named := environ.get("LOVIA_STORE"):
        return _named_store(named, "LOVIA_STORE", "env", cwd)
    for folder in (cwd, *cwd.parents):
        if (folder / STORE_NAME).is_dir():
            return StoreLocation(folder / STORE_NAME, "found")
    return StoreLocation(cwd / STORE_NAME, "default")


def _named_store(value: str, source: str, origin: Origin, cwd: Path) -> StoreLocation:
    """The store that a path or a URL names."""
    match = re.fullmatch(_SCHEME, value)
    scheme, rest = match.groups() if match else ("file", value)
    kind = _KINDS.get(scheme)
    if kind is None:
        is_planned = scheme in ("postgresql", "postgres")
        what = f"{scheme} stores are not there yet" if is_planned else f"unknown kind of store {scheme!r}"
        raise UserError(what, where=f"{source} {scheme}:{re.sub(_PASSWORD, '***', rest)}", hint=_USE)
    if rest.startswith("//"):  # file:///path, as other tools write it; file://host/path has no meaning here
        rest = f"/{rest.lstrip('/')}"
    if not rest.strip() or "\0" in rest or (kind == "sqlite" and rest in ("/", ":memory:")):
        raise UserError("the store's path is empty or no path", where=source, hint=_USE)
    path = Path(os.path.abspath(cwd / Path(rest).expanduser()))  # noqa: PTH100 - resolve() would follow links
    if kind == "file" and _is_database(path):
        raise UserError(
            f"{path} is a database, and no folder", where=source, hint=f"name it as one: --store sqlite:{value}"
        )
    return StoreLocation(path, origin, value, kind)


def _is_database(path: Path) -> bool:
    if not path.is_file():  # a pipe would keep us waiting
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_DATABASE)) == _DATABASE
    except OSError:
        return False


def choose_output(
    flag: str | None, json_flag: bool, environ: Mapping[str, str], known: tuple[Output, ...] = OUTPUTS
) -> Output:
    """``--json`` and ``-o`` before ``LOVIA_OUTPUT``; an unknown word is a usage error that names its source."""
    source, value = ("--output", flag) if flag is not None else ("LOVIA_OUTPUT", environ.get("LOVIA_OUTPUT") or None)
    if json_flag:
        if flag not in (None, "json"):
            raise UserError(f"--json and --output {flag} contradict each other", hint="give one of them")
        return "json"
    if value is None:
        return "text"
    for output in known:
        if value == output:
            return output
    raise UserError(f"unknown output {value!r}", where=source, hint="use one of: " + ", ".join(known))
