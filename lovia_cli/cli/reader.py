"""A command line that is right, to the values of its verb, without typer: that costs five times a start of Python.

What this cannot read is not for it to explain. It gives up, and the same words go to `lovia_cli.cli.parser`, which
knows help, near matches and what is wrong. A test holds that whatever is read here is read to the same values there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lovia_cli.cli.parameters import Argument, Option, Parameter


class NotPlain(Exception):  # noqa: N818 - no error yet: it may be a wish for help
    """The words are not simply right."""


def read(parameters: Sequence[Parameter], words: Sequence[str], *, verb_follows: bool = False) -> Reading:
    """The values that ``words`` give to ``parameters``.

    With ``verb_follows`` only options are read, up to the first word that is none. Raises `NotPlain`.
    """
    reading = Reading(parameters, words)
    reading.options(up_to_a_word=verb_follows)
    if not verb_follows:
        reading.arguments()
    return reading


class Reading:
    """What the words have ``given`` so far: texts by parameter."""

    def __init__(self, parameters: Sequence[Parameter], words: Sequence[str]) -> None:
        self._parameters = parameters
        self._left = list(reversed(words))  # the next one is the last
        self._places: list[str] = []
        self.given: dict[str, list[str]] = {}

    @property
    def rest(self) -> list[str]:
        """The words that were not read."""
        return self._left[::-1]

    @property
    def values(self) -> dict[str, Any]:
        """The value of each parameter, or its default. Raises `NotPlain` where one is missing or of a wrong type."""
        return {parameter.name: self._value(parameter) for parameter in self._parameters}

    def options(self, *, up_to_a_word: bool) -> None:
        """Read the options; other words are kept for `arguments`. After ``--`` no word is an option."""
        while self._left:
            word = self._left.pop()
            if word == "--":
                if up_to_a_word:
                    raise NotPlain
                self._places += reversed(self._left)
                self._left.clear()
            elif word.startswith("--"):
                self._long(word)
            elif word.startswith("-") and word != "-":
                self._short(word)
            elif up_to_a_word:
                self._left.append(word)
                return
            else:
                self._places.append(word)

    def arguments(self) -> None:
        """Give the words that are no options to the arguments, in their order; the last may take all that follow."""
        for parameter in self._parameters:
            if isinstance(parameter.declared, Argument) and self._places:
                number = len(self._places) if parameter.many else 1
                self.given[parameter.name], self._places = self._places[:number], self._places[number:]
        if self._places:
            raise NotPlain

    def _long(self, word: str) -> None:
        name, has_value, value = word.partition("=")
        option = self._named(name)
        if has_value:
            if not option.takes_value:
                raise NotPlain
            self._left.append(value)
        self._take(option)

    def _short(self, word: str) -> None:
        """``-q``, ``-qv``, ``-n 5``, ``-n5``, ``-qn5``."""
        for end, letter in enumerate(word[1:], 2):
            option = self._named(f"-{letter}")
            if option.takes_value and word[end:]:
                self._left.append(word[end:])
            self._take(option)
            if option.takes_value:
                return

    def _named(self, name: str) -> Parameter:
        for parameter in self._parameters:
            if isinstance(parameter.declared, Option) and name in parameter.declared.names:
                return parameter
        raise NotPlain

    def _take(self, option: Parameter) -> None:
        """Note the option, with the next word where it takes one."""
        if option.takes_value and not self._left:
            raise NotPlain
        self.given.setdefault(option.name, []).append(self._left.pop() if option.takes_value else "")

    def _value(self, parameter: Parameter) -> Any:
        texts = self.given.get(parameter.name)
        if texts is None:
            if parameter.is_required:
                raise NotPlain
            return parameter.default
        if not parameter.takes_value:
            return True if parameter.kind is bool else len(texts)
        try:
            values = [parameter.kind(text) for text in texts]
        except ValueError:
            raise NotPlain from None
        return values if parameter.many else values[-1]
