"""``--attach FILE``: files on their way into the input, as typed parts beside its text."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from lovia_cli.errors import UserError
from lovia_cli.models.parts import attachment, media_type_of
from lovia_cli.models.wire import BadAnswer
from stores.entries import JSON

MOST_BYTES = 20_000_000
"""What all attachments of one input may hold together; providers take no more either."""


def attachments(paths: Sequence[str]) -> list[dict[str, JSON]]:
    """A part for each file: ``{"type": "image"|"file", "media_type", "name", "data"}``, ``data`` in base64.

    The media type comes from the file's name, of an image from its content; a name that says nothing leaves it to the
    bytes. What no model reads is refused: stored, it would fail each run that has it in its conversation. Raises
    `UserError`, naming the file.
    """
    parts: list[dict[str, JSON]] = []
    total = 0
    for path in paths:
        if not path:
            raise UserError("an attachment has no file name", hint="write: --attach FILE")
        data = _read(path)
        total += len(data)
        if total > MOST_BYTES:
            raise UserError(
                f"the attachments are larger than {MOST_BYTES // 1_000_000} MB together", where=path, hint="attach less"
            )
        parts.append(_part(path, data))
    return parts


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read the attachment: {error.strerror}", where=path, hint="check the path") from error


def _part(path: str, data: bytes) -> dict[str, JSON]:
    named, packed = mimetypes.guess_type(path)
    part: dict[str, JSON] = {
        "media_type": f"application/{packed}" if packed else named or _guess(path, data),
        "name": Path(path).name,
        "data": base64.b64encode(data).decode("ascii"),
    }
    try:
        file = attachment(part)
    except BadAnswer as error:
        raise UserError(error.message, where=path, hint=error.hint) from error
    return {"type": "image" if file.kind == "image" else "file", **part, "media_type": file.media_type}


def _guess(path: str, data: bytes) -> str:
    if known := media_type_of(data):
        return known
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise UserError(
            "cannot tell what kind of file the attachment is",
            where=path,
            hint="give its name an ending, such as .png, .pdf or .txt",
        ) from None
    return "text/plain"
