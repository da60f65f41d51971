"""The user state of a run: the live object that tools change, and what of it is stored (R2, D4)."""

from __future__ import annotations

import marshal
from typing import Any

from stores.entries import JSON
from stores.values import ValueNotStorable, plain


class UserState:
    """``live`` is the one dict that every tool of the run gets."""

    def __init__(self, stored: dict[str, JSON]) -> None:
        self.live: dict[str, Any] = plain(stored)
        self._stored = stored
        self._mark = _mark(self.live)

    def adopt(self, state: dict[str, Any]) -> None:
        """A tool may also put another dict in the place of its state; that one's content is the state then."""
        if state is not self.live and isinstance(state, dict):
            self.live.clear()
            self.live.update(state)

    def check(self) -> None:
        """Raise `ValueNotStorable` when a tool has put something into the state that has no stored form.

        The state is then what was stored last.
        """
        mark = _mark(self.live)
        if mark is not None and mark == self._mark:
            return
        try:
            plain(_still(self.live, mark))
        except ValueNotStorable:
            self._replace(self._stored)
            raise

    def changed(self) -> dict[str, JSON] | None:
        """The state's stored form when a tool has changed it since the last call of this, else None.

        Asked at every save, so it does not convert a state that is as it was. A value that has another stored form
        is put into ``live`` in that form at once: a tool sees the same before and after a resume.
        """
        mark = _mark(self.live)
        if mark is not None and mark == self._mark:
            return None
        try:
            stored: dict[str, JSON] = plain(_still(self.live, mark))
        except ValueNotStorable:  # changed by a tool that is still running, whose own check will say so
            return None
        self._stored = stored
        self._mark = _mark(stored)
        if self._mark != mark:
            self._replace(stored)
        return stored

    def _replace(self, stored: dict[str, JSON]) -> None:
        self.live.clear()
        self.live.update(plain(stored))


def _still(live: dict[str, Any], mark: bytes | None) -> Any:
    """The state as it was when ``mark`` was taken, where a tool in a thread may be changing it now."""
    return live if mark is None else marshal.loads(mark)


def _mark(value: Any) -> bytes | None:
    """Bytes that differ when the value does, its types included; None for what is not of JSON's types.

    Never stored: marshal is the one encoder that is exact (1, 1.0 and True differ, NaN is itself) and costs
    microseconds for a state of 50 KB.
    """
    try:
        return marshal.dumps(value, 2)
    except ValueError:
        return None
