"""Attachments on their way to a provider: ``{"type": "image"|"file", "media_type", "name", "data"}``.

``data`` is base64. Which form a provider wants is its mapper's; what an attachment is, and which are none that a model
reads, is decided here, also for those who take attachments in: stored, such a one fails each run that reads it.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Literal

from lovia_cli.models.wire import BadAnswer
from stores.entries import JSON
from stores.values import clean_text

PDF = "application/pdf"
_TEXT_TYPES = frozenset(
    {"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
     "application/javascript", "application/x-sh", "application/sql"}
)  # fmt: skip
_BEGINNINGS = {
    "image/png": rb"\x89PNG",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8",
    "image/webp": rb"RIFF....WEBP",
    PDF: rb"%PDF-",
}
"""How the files begin that a model is sent as bytes: the images that all providers take, and PDF."""
_HINT = "attach a PNG, JPEG, GIF or WebP image, a PDF or a text file"
_HEAD = 1368
"""Characters of base64 that hold the first 1,024 bytes of a file, in which a PDF must say that it is one."""


@dataclass(slots=True, frozen=True)
class Attachment:
    """One attachment: an image or a PDF as base64, or a text."""

    kind: Literal["image", "pdf", "text"]
    name: str
    media_type: str
    data: str = ""
    text: str = ""

    @property
    def data_url(self) -> str:
        return f"data:{self.media_type};base64,{self.data}"

    @property
    def labelled_text(self) -> str:
        """The text with its file name, for providers that take no text files."""
        return f"File {self.name}:\n\n{self.text}"


def attachment(part: dict[str, JSON]) -> Attachment:
    """What ``part`` is; of an image or a PDF its content tells which. Raises `BadAnswer` for what no model reads."""
    media_type = str(part.get("media_type") or "application/octet-stream").lower()
    name, data = str(part.get("name") or "attachment"), str(part.get("data") or "")
    if media_type.startswith("text/") or media_type in _TEXT_TYPES or media_type.endswith(("+json", "+xml")):
        return Attachment("text", name, media_type, text=clean_text(_decode(name, data).decode("utf-8", "replace")))
    if media_type != PDF and not media_type.startswith("image/"):
        raise _unread(name, media_type)
    if not data:
        raise BadAnswer(f"the attachment {name!r} is empty", retryable=False, hint=_HINT)
    beginning = "".join(data[:_HEAD].split())  # it may be set out in lines
    head = _decode(name, beginning[: len(beginning) // 4 * 4])
    if found := media_type_of(head) or (PDF if media_type == PDF and b"%PDF-" in head else None):
        return Attachment("pdf" if found == PDF else "image", name, found, data=data)
    if media_type in _BEGINNINGS:
        raise BadAnswer(f"the attachment {name!r} is no {media_type}, nor an image", retryable=False, hint=_HINT)
    raise _unread(name, media_type)


def media_type_of(data: bytes) -> str | None:
    """The media type of a file that a model is sent as bytes, by its beginning; None for all others."""
    return next((kind for kind, begins in _BEGINNINGS.items() if re.match(begins, data, re.DOTALL)), None)


def _unread(name: str, media_type: str) -> BadAnswer:
    what = f"the attachment {name!r} is {media_type}, which models cannot read"
    return BadAnswer(what, retryable=False, hint=_HINT)


def _decode(name: str, data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        what = f"the attachment {name!r} is not stored as base64: {error}"
        raise BadAnswer(what, retryable=False, hint=_HINT) from error
