"""What may be an id of a run, a session or an approval, and a fresh one.

Every store asks `check_id` before it does anything.
"""

from __future__ import annotations

from shlex import quote
from time import time_ns

from stores.errors import UserError

MAX_LENGTH = 255
_LINE_ENDS = "\u2028\u2029"


def check_id(value: str, what: str = "id") -> str:
    """Return ``value`` unchanged if it may be an id, else raise `UserError` that says why.

    Any text of 1 to 255 characters may, except blank text, text that is not valid UTF-8 (lone surrogates), and
    text with control characters (C0, DEL, C1) or line separators. Letter case, Unicode form, separators and dots
    are part of the id: two different texts are two different ids. ``what`` names it in the message: "run id".
    """
    if not isinstance(value, str):
        raise UserError(f"the {what} is not text but {type(value).__name__}", hint=f"give the {what} as text")
    if not value.strip():
        raise UserError(f"the {what} is empty or blank", hint="give at least one visible character")
    if len(value) > MAX_LENGTH:
        raise UserError(
            f"the {what} has {len(value)} characters, more than {MAX_LENGTH}",
            hint="use a shorter one, or a hash of the long text",
        )
    if bad := next((char for char in value if _is_refused(char)), None):
        raise UserError(f"the {what} {value!a} contains U+{ord(bad):04X}", hint=f"leave it out of the {what}")
    return value


def as_words(value: str) -> str:
    """An id as the last words of a command line in a hint: quoted, and never taken for an option."""
    return f"-- {quote(value)}" if value.startswith("-") else quote(value)


def _is_refused(char: str) -> bool:
    """Control characters and line ends would break a listing, a lone surrogate cannot be written as UTF-8."""
    code = ord(char)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or char in _LINE_ENDS


def new_id() -> str:
    """A fresh id: a UUID of version 7, so that ids sort by the millisecond they were made in."""
    from secrets import randbits  # they load hashes and more, for a command that makes no id
    from uuid import UUID

    millis = time_ns() // 1_000_000
    return str(UUID(int=millis << 80 | 7 << 76 | randbits(12) << 64 | 2 << 62 | randbits(62)))
