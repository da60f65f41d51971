"""The values that are shown to nobody, and the names that stand in their place.

A provider's message, a tool or a model may quote what it was sent. Known is what a variable of the environment holds
that is named like a secret, or that an agent file names. Of those files runs store the names: no view reads one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lovia_cli.environment import names_in

if TYPE_CHECKING:
    from lovia_cli.cli.redacting import Redactor

_NOUNS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASS", "CREDENTIAL", "PAT")
_WORDS = frozenset(f"{api}{noun}{s}" for api in ("", "API") for noun in _NOUNS for s in ("", "S"))
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SHORTEST = 8
"""A shorter value is found in too much that is no secret."""
_SHORTEST_NAMED = 4
"""The least characters of a variable that an agent file names: a shorter value stands everywhere."""
_PLAIN = frozenset({"true", "false", "null", "none"})
"""What a variable holds that is a switch: these words tell nothing."""


class Secrets:
    """What one process hides. Nothing is looked at before it is first asked, and without secrets nothing is done."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._named: set[str] = set()
        self._redactor: Redactor | None = None
        self._is_settled = False

    def learn(self, names: Iterable[str]) -> None:
        """An agent file names these variables: their values are hidden from now on."""
        new = set(names) - self._named
        if new:
            self._named |= new
            self._is_settled = False

    def learn_from(self, *configs: Any) -> None:
        """The same, of the files that runs with these configs were started with."""
        self.learn(name for config in configs for name in names_in(config))

    @property
    def redactor(self) -> Redactor | None:
        """What takes them out; None where there is nothing to hide."""
        if not self._is_settled:
            self._is_settled = True
            known = known_values(self._environ, self._named)
            if known:
                from lovia_cli.cli.redacting import Redactor

                self._redactor = Redactor(known, shapes=False)
        return self._redactor

    def text(self, text: str) -> str:
        """``text`` with ``[NAME]`` for the value of each known variable NAME."""
        redactor = self.redactor
        return text if redactor is None else redactor.text(text)


def known_values(environ: Mapping[str, str], named: Iterable[str] = ()) -> dict[str, str]:
    """The values, by name, of the variables named like secrets and of those ``named``, but for too short ones."""
    known = {name: value for name in named if len(value := environ.get(name, "").strip()) >= _SHORTEST_NAMED}
    known = {name: value for name, value in known.items() if value.lower() not in _PLAIN}
    return known | secret_variables(environ)


def secret_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names say that they hold a secret, with their values, but for values that are too short."""
    values = {name: value.strip() for name, value in environ.items() if _is_secret(name)}
    return {name: value for name, value in values.items() if len(value) >= _SHORTEST}


def _is_secret(name: str) -> bool:
    """True where a word between underscores is one for secrets, as in ``SHOP_TOKEN``, ``apikey`` and ``DB_KEY2``."""
    for part in name.upper().split("_"):
        rest = part.lstrip(_LETTERS)
        if part[: len(part) - len(rest)] in _WORDS and not rest[:1].strip("0123456789"):
            return True
    return False
