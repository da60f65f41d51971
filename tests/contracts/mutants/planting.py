"""How a fault is planted, and the few faults that come in families."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import stores.conformance
from stores.conformance.checks import Contract
from stores.errors import UserError
from stores.ids import check_id
from stores.memory import InMemoryCheckpointer, InMemorySession

CONTRACTS: list[type[Any]] = [
    getattr(stores.conformance, name) for name in stores.conformance.__all__ if name.endswith("Contract")
]
Test = Callable[[Any], Any]


class BadSession(InMemorySession):
    """A session store to plant a fault in. ``handle`` is what a contract's ``open`` gives."""

    def handle(self) -> BadSession:
        return self


class BadCheckpointer(InMemoryCheckpointer):
    """A checkpointer to plant a fault in; it waits for no lock that a fault has kept."""

    def __init__(self) -> None:
        super().__init__(busy_timeout=0.02)

    def handle(self) -> BadCheckpointer:
        return self


@dataclass(frozen=True)
class Fault:
    """A store with one broken promise, and a test that must fail on it."""

    store: type[Any]
    test: Test

    @property
    def name(self) -> str:
        return f"{self.store.__name__}-{self.test.__name__}"

    def suite(self) -> Contract[Any]:
        """The contract class that the test belongs to, run on this store."""
        contract = next(c for c in CONTRACTS if vars(c).get(self.test.__name__) is self.test)
        store = self.store()

        async def open_(_self: Any) -> Any:
            return store.handle()

        def recipe(_self: Any) -> Any:
            return self.store

        return type(contract.__name__, (contract,), {"open": open_, "recipe": recipe})()


FAULTS: list[Fault] = []


def planted(*tests: Test) -> Callable[[type[Any]], type[Any]]:
    """The decorated store is one that ``tests`` must fail on."""

    def plant(store: type[Any]) -> type[Any]:
        FAULTS.extend(Fault(store, test) for test in tests)
        return store

    return plant


def plant_family(base: type[Any], members: dict[str, dict[str, Any]], *tests: Test) -> None:
    """Plant one fault a member: ``base`` under the member's name, with its attributes."""
    for name, attributes in members.items():
        planted(*tests)(type(name, (base,), attributes))


def renaming(base: type[Any], methods: Iterable[str], rename: Callable[[str], str]) -> type[Any]:
    """A store that takes another id for the one it is given."""

    def renamed(name: str) -> Callable[..., Any]:
        original = getattr(base, name)
        return lambda self, key, *args, **named: original(self, rename(key), *args, **named)

    return type(base.__name__, (base,), {name: renamed(name) for name in methods})


def any_id(text: str) -> str:
    """The fault of a store that takes every text for an id."""
    try:
        return check_id(text)
    except UserError:
        return f"refused {len(text)} {ascii(text)[:100]}"


MIX_UPS: dict[str, Callable[[str], str]] = {
    "FoldsLetterCase": str.lower,
    "NormalisesUnicode": lambda text: unicodedata.normalize("NFC", text),
    "FoldsCompatibleForms": lambda text: unicodedata.normalize("NFKC", text),
    "StripsBlanks": str.strip,
    "StripsDots": lambda text: text.strip(".") or "dot",
    "CutsLongIds": lambda text: text[:200],
    "CutsPathsOff": lambda text: text.rsplit("/", 1)[-1],
    "FlattensSeparators": lambda text: text.replace("/", "_").replace("\\", "_"),
    "DecodesPercents": lambda text: text.replace("%2F", "/"),
    "SharesReservedNames": lambda text: "file" if text.split(".")[0].lower() in ("con", "nul") else text,
}
"""Ways to take two ids for one."""


def forgetful(record: type[Any], field: str) -> Callable[[Any], None]:
    """A function that puts ``field`` of such a record back to its default."""
    blank = record(**{name: "" for name in ("text", "id", "name", "call_id", "output") if name in record.__slots__})

    def forget(value: Any) -> None:
        if isinstance(value, record):
            setattr(value, field, getattr(blank, field))

    return forget
