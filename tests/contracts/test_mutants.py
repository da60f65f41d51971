"""The contract tests catch what they are there to catch: each fails on the faults planted for it."""

import asyncio

import pytest

from stores.errors import LoviaError
from tests.contracts.mutants import CONTRACTS, FAULTS, Fault

TESTS = [test for contract in CONTRACTS for name, test in vars(contract).items() if name.startswith("test_")]


async def run(fault: Fault) -> None:
    """Run the fault's test on its store; one that would wait for ever has failed too."""
    async with asyncio.timeout(20):
        await getattr(fault.suite(), fault.test.__name__)()


@pytest.mark.anyio
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_the_contract_catches(fault: Fault) -> None:
    with pytest.raises((AssertionError, LoviaError)):
        await run(fault)


def test_every_contract_test_catches_a_planted_fault() -> None:
    caught = {fault.test for fault in FAULTS}
    assert [test.__qualname__ for test in TESTS if test not in caught] == []


def test_no_contract_test_hides_another_where_a_store_inherits_both() -> None:
    names = [test.__name__ for test in TESTS]
    assert [name for name in set(names) if names.count(name) > 1] == []
