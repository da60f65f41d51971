"""What could stand at the end of a half-typed command line. The scripts of `lovia completion` ask at every TAB.

So it is fast, changes nothing, and says nothing about what is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lovia_cli.cli.grammar import FILE, FLAG, GLOBAL, ID, RUN, SESSION, TEXT, TOP, VERBS, Verb, Wanted
from lovia_cli.render.terminal import safe


class Candidates(NamedTuple):
    """Whole words in place of the one being typed; ``files`` when the shell should propose its own."""

    words: list[str]
    files: bool = False


def candidates(before: Sequence[str], current: str) -> Candidates:
    """What the word ``current`` could become after the words ``before``, of which the first follows ``lovia``."""
    line = Line(before)
    wanted, prefix = line.wanted, ""
    if line.option is None and line.is_open and current.startswith("-"):
        name, equals, _ = current.partition("=")
        if not equals:
            return _beginning(current, sorted(line.options))
        wanted, prefix = line.options.get(name, TEXT), f"{name}="
    if wanted == FILE:
        return Candidates([], files=True)
    if isinstance(wanted, tuple):
        return _beginning(current, (prefix + word for word in wanted))
    if wanted in (RUN, SESSION, ID):
        value_follows = bool(line.option or prefix or not line.is_open)
        ids = _ids(line.store, wanted, current.removeprefix(prefix), dashes=value_follows)
        return _beginning(current, (prefix + word for word in ids))
    return Candidates([])


def _beginning(current: str, words: Iterable[str]) -> Candidates:
    return Candidates([word for word in words if word.startswith(current)])


class Line:
    """The words so far, as lovia would read them.

    ``option`` is the one whose value comes next, ``wanted`` what the next word is; ``is_open`` is False after
    ``--``: then no word is an option. ``store`` is what was given for ``--store``.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.option: str | None = None
        self.is_open = True
        self.store: str | None = None
        self._verb = ""
        self._grammar = Verb((_verbs(""),), TOP)
        self._left = self._grammar.words
        for word in words:
            self._read(word)

    @property
    def options(self) -> dict[str, Wanted]:
        return {**GLOBAL, **self._grammar.options}

    @property
    def wanted(self) -> Wanted:
        return self.options[self.option] if self.option else self._left[0]

    def _read(self, word: str) -> None:
        if self.option is not None:
            self._take(self.option, word)
        elif self.is_open and word == "--":
            self.is_open = False
        elif self.is_open and word.startswith("-") and word != "-":
            self._read_option(word)
        elif self._verb in VERBS:
            self._left = self._left[1:] or self._left
        else:
            self._verb = f"{self._verb} {word}".strip()
            self._grammar = VERBS.get(self._verb) or Verb((_verbs(self._verb),))
            self._left = self._grammar.words or (TEXT,)

    def _read_option(self, word: str) -> None:
        """An option, and its value where that is in the same word: ``--store=x``, ``-su1``."""
        name, has_value, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if self.options.get(name, FLAG) == FLAG:
            return
        if has_value:
            self._take(name, value)
        else:
            self.option = name

    def _take(self, option: str, value: str) -> None:
        if option == "--store":
            self.store = value
        self.option = None


def _verbs(group: str) -> tuple[str, ...]:
    """The verbs, or those of a group such as ``runs``."""
    start = f"{group} " if group else ""
    return tuple(dict.fromkeys(name.removeprefix(start).split()[0] for name in VERBS if name.startswith(start)))


def _ids(store: str | None, wanted: Wanted, current: str, *, dashes: bool) -> Iterator[str]:
    """The ids that can stand here. With ``dashes``, also those that look like an option.

    What would move a terminal's cursor is left out. Where a run or a session may stand, an id that both have gets
    the prefix that tells them apart, as every id does once a prefix has been typed.
    """
    from lovia_cli.settings import locate_store
    from lovia_cli.wiring import known_ids

    known = known_ids(locate_store(store, os.environ, Path.cwd()))
    runs, sessions = (
        [one for one in ids if safe(one, lines=False) == one and (dashes or not one.startswith("-"))] for ids in known
    )
    if wanted == RUN:
        yield from runs
    elif wanted == SESSION:
        yield from sessions
    else:
        both = {*runs} & {*sessions}
        for kind, ids in (("run:", runs), ("session:", sessions)):
            prefixed = current.startswith(kind)
            yield from (kind + one if prefixed or one in both or _is_prefixed(one) else one for one in ids)


def _is_prefixed(word: str) -> bool:
    return word.startswith(("run:", "session:"))


def main(argv: Sequence[str]) -> int:
    """``__complete SHELL ...``: print ``files`` or ``words``, then one candidate a line."""
    try:
        shell, *rest = argv
        if shell == "bash":
            from lovia_cli.cli.bash import Typed

            typed = Typed.of(rest[0], rest[1])
            found = candidates(typed.before, typed.text)
            words = [reply for word in found.words if (reply := typed.reply(word)) is not None]
        else:
            found = candidates(rest[:-1], rest[-1])
            words = found.words
    except Exception:
        return 1  # at a TAB there is nobody to tell
    lines = ["files" if found.files else "words", *words]
    os.write(1, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    return 0
