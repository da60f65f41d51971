"""What a terminal may be shown: outside text made harmless, and how wide it stands.

Text from models, tools, people and ids is data. `safe` is the one function that all of it passes on its way into a
human view: control characters become visible escapes, so that no sequence of theirs moves the cursor, renames
the window or hides a line. There is no markup anywhere, so nothing else in a text means anything.
"""

from __future__ import annotations

import re
from functools import cache

UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1 (0x9b alone starts a sequence)
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi controls reorder what follows
    "\u2028\u2029\ufff9-\ufffb"  # line breaks of another kind, hidden annotations
    "\ud800-\udfff"  # halves of a pair: no encoding takes them
)
"""The characters that no terminal is shown, as the inside of a regular expression's brackets."""


@cache
def _unsafe(lines: bool) -> re.Pattern[str]:
    return re.compile(f"[{UNSAFE}]" if lines else f"[\t\n{UNSAFE}]")


def safe(text: str, *, lines: bool = True) -> str:
    """``text`` with its control characters made visible, such as ``\\x1b``; all else is as it was.

    Newlines and tabs stay, unless ``lines`` is False: then the result is one line.
    """
    if text.isprintable():  # most are, and then nothing in them is unsafe
        return text
    return _unsafe(lines).sub(_visible, text.replace("\r\n", "\n") if lines else text)


def _visible(match: re.Match[str]) -> str:
    char = match[0]
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    code = ord(char)
    return named or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def quoted(word: str) -> str:
    """One shell word that stands for exactly ``word``; what `safe` would change is written as an escape."""
    if safe(word, lines=False) == word:
        from shlex import quote

        return quote(word)
    body = safe(word.replace("\\", "\\\\").replace("'", "\\'"), lines=False)
    return f"$'{body}'"


def width(text: str) -> int:
    """The columns that one line of `safe` text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    import unicodedata

    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shortened(text: str, columns: int) -> str:
    """``text`` as one safe line of at most ``columns``, with ``...`` where something was left out."""
    line = " ".join(safe(text[: 4 * columns + 4]).split())
    if width(line) <= columns and len(text) <= 4 * columns + 4:
        return line
    return _taken(line, max(columns - 3, 0)) + "..."


def shortened_middle(line: str, columns: int) -> str:
    """An id of `safe` text in ``columns``: its beginning and its end, which tell ids apart, with ``...`` between."""
    if width(line) <= columns:
        return line
    room = max(columns - 3, 2)
    head, tail = _taken(line, room - room // 2), _taken(line[::-1], room // 2)[::-1]
    return f"{head}...{tail}"


def _taken(line: str, columns: int) -> str:
    """As much of the beginning as fits."""
    kept, used = "", 0
    for char in line:
        used += _columns(char)
        if used > columns:
            break
        kept += char
    return kept


class Paint:
    """Colour where it is wanted, and nothing where it is not. Wraps our own words, or text that `safe` has passed."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.enabled and text else text

    def bold(self, text: str) -> str:
        return self._wrap("1", text)

    def dim(self, text: str) -> str:
        return self._wrap("2", text)

    def red(self, text: str) -> str:
        return self._wrap("31", text)

    def green(self, text: str) -> str:
        return self._wrap("32", text)

    def yellow(self, text: str) -> str:
        return self._wrap("33", text)
