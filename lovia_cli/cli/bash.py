"""How bash splits a line that is being typed, and what it wants back.

bash hands over the text as it stands: with quotes, and without a word for what is still open. It replaces only what
follows the last character of ``COMP_WORDBREAKS``, so that of ``run:a`` a completion must begin after the colon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_BLANKS = " \t\n"
_QUOTES = "'\""
_PLAIN = re.compile(r"([^A-Za-z0-9_@%+=:,./\-\u0080-\U0010ffff])")
_SPECIAL_IN_DOUBLE = frozenset('$`"\\!')


class Typed(NamedTuple):
    """``before`` are the words after the command's name, unquoted; ``text`` is the one at the cursor, so far.

    ``quote`` is the quote that is open, if any; ``kept`` says how much of ``text`` bash leaves as it is.
    """

    before: Sequence[str]
    text: str
    quote: str
    kept: int

    @staticmethod
    def of(line: str, breaks: str) -> Typed:
        """``line`` is the command up to the cursor, ``breaks`` the shell's COMP_WORDBREAKS."""
        scan = _Scan(frozenset(breaks) - {*_BLANKS, *_QUOTES})
        for char in line:
            scan.read(char)
        words = scan.words
        while words and re.match(r"\w+=", words[0]):  # NAME=VALUE lovia ...
            words.pop(0)
        return Typed(words[1:], scan.text or "", scan.quote, scan.kept)

    def reply(self, word: str) -> str | None:
        """What bash is to put in place of what it replaces, so that the line says ``word``; None: it cannot."""
        rest = word[self.kept :]
        if self.quote == "'":
            return None if "'" in rest else rest
        if self.quote:
            return None if _SPECIAL_IN_DOUBLE & {*rest} else rest
        return _PLAIN.sub(r"\\\1", rest)


class _Scan:
    """One pass over the line, a character at a time."""

    def __init__(self, breaks: frozenset[str]) -> None:
        self.words: list[str] = []
        self.text: str | None = None
        self.quote = ""
        self.kept = 0
        self._breaks = breaks
        self._escaped = False

    def read(self, char: str) -> None:
        if self._escaped:
            self._add(char if not self.quote or char in _SPECIAL_IN_DOUBLE else "\\" + char)
            self._escaped = False
        elif char == "\\" and self.quote != "'":
            self._escaped = True
        elif self.quote:
            self._in_quotes(char)
        elif char in _QUOTES:
            self.quote, self.text = char, self.text or ""
            self.kept = len(self.text)
        elif char in _BLANKS:
            self._end_word()
        else:
            before = len(self.text or "")
            self._add(char)
            if char in self._breaks:
                self.kept = before if char == "@" else before + 1  # a host's name is replaced with its @

    def _in_quotes(self, char: str) -> None:
        if char == self.quote:
            self.quote = ""
        else:
            self._add(char)

    def _add(self, char: str) -> None:
        self.text = (self.text or "") + char

    def _end_word(self) -> None:
        if self.text is not None:
            self.words.append(self.text)
        self.text, self.kept = None, 0
