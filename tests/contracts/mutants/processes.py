"""Faults of a store that processes share, for stores/conformance/processes.py."""

from __future__ import annotations

from typing import Any

from stores.conformance import SharedCheckpointerContract, SharedSessionContract
from tests.contracts.mutants.planting import BadCheckpointer, BadSession, planted


def tests_of(contract: type[Any]) -> list[Any]:
    return [test for name, test in vars(contract).items() if name.startswith("test_")]


@planted(*tests_of(SharedSessionContract))
class KeepsItsSessionsInOneProcess(BadSession):
    pass


@planted(*tests_of(SharedCheckpointerContract))
class KeepsItsRunsInOneProcess(BadCheckpointer):
    pass
