"""Attachments on their way to a provider: ``{"type": "image"|"file", "media_type", "name", "data"}``.

``data`` is base64. Which form a provider wants is its mapper's; what an attachment is, is decided here.
"""

from __future__ import annotations

import base64
import binascii
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
    """What ``part`` is. Raises `BadAnswer` for a kind of file that no model reads."""
    media_type = str(part.get("media_type") or "application/octet-stream").lower()
    name, data = str(part.get("name") or "attachment"), str(part.get("data") or "")
    if media_type.startswith("image/"):
        return Attachment("image", name, media_type, data=data)
    if media_type == PDF:
        return Attachment("pdf", name, media_type, data=data)
    if media_type.startswith("text/") or media_type in _TEXT_TYPES or media_type.endswith(("+json", "+xml")):
        return Attachment("text", name, media_type, text=_decode(name, data))
    raise BadAnswer(
        f"the attachment {name!r} is {media_type}, which models cannot read",
        retryable=False,
        hint="attach an image, a PDF or a text file",
    )


def _decode(name: str, data: str) -> str:
    try:
        return clean_text(base64.b64decode(data, validate=True).decode("utf-8", "replace"))
    except binascii.Error as error:
        raise BadAnswer(f"the attachment {name!r} is not stored as base64: {error}", retryable=False) from error
