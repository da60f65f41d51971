"""``lovia doctor``: looks at every record of the store, and mends what can be mended without losing anything."""

from __future__ import annotations

import os
from typing import Annotated

from lovia_cli.cli.advice import in_same_store
from lovia_cli.cli.answers import Answer, Checked
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.errors import RunNotFoundError
from lovia_cli.exits import Exit
from lovia_cli.settings import StoreLocation
from lovia_cli.wiring import check_store
from stores.findings import Finding


class StoreNotFoundError(RunNotFoundError):
    """There is nothing to look at."""

    code = "store_not_found"


def doctor(
    call: Call,
    repair: Annotated[bool, Option("--repair", help="Mend it; what is damaged is moved aside.")] = False,
) -> Answer:
    """Check every record of the store. Changes nothing without --repair, and loses nothing with it.

    Exits 0 when all is well: what a crash leaves behind and nobody reads is listed, and does no harm.
    """
    store = call.settings.store
    if not os.path.lexists(store.path):
        raise StoreNotFoundError(
            f"there is no store at {store}", hint="name another with --store; the first run makes one"
        )
    found = check_store(store, repair=repair)
    handled = [finding for finding in found if repair and finding.repairable]
    mended = [finding for finding in handled if not finding.is_lost]
    well = all(finding in handled or finding.is_leftover for finding in found)
    return Checked(
        summary=_repaired(found, mended, handled) if repair and found else _found(store, found),
        findings=[
            {
                "where": finding.file,
                "message": in_same_store(finding.what, store),
                "repairable": finding.repairable,
                "leftover": finding.is_leftover,
                "done": ("moved aside" if finding.is_lost else "repaired") if finding in handled else None,
            }
            for finding in found
        ],
        data={"store": str(store), "well": well, "repaired": len(mended)},
        exit_code=Exit.OK if well else Exit.STORE,
    )


COMMAND = doctor


def _found(store: StoreLocation, found: list[Finding]) -> str:
    """What a check comes to. It promises no more of a repair than the findings do."""
    mendable = sum(finding.repairable for finding in found)
    if not found:
        return f"nothing is wrong in {store}"
    if not mendable:
        return f"{len(found)} found; a repair would change nothing"
    some = "" if mendable == len(found) else f" {mendable} of them"
    return in_same_store(f"{len(found)} found; mend{some} with: lovia doctor --repair", store)


def _repaired(found: list[Finding], mended: list[Finding], handled: list[Finding]) -> str:
    """What a repair comes to."""
    lost, left = len(handled) - len(mended), len(found) - len(handled)
    aside = f", {lost} moved aside" if lost else ""
    return f"{len(found)} found, {len(mended)} repaired{aside}, {left} left as {'it is' if left == 1 else 'they are'}"
