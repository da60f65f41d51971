"""The storekeeper's tools.

A tool is a function with annotations and a docstring. One with a parameter `ctx: ToolContext` also gets its call:
ids, the run's state, a way to show progress. What it raises, the model is told.
"""

from pathlib import Path

from lovia_cli.tools.base import ToolContext

BOOK = Path(__file__).parent / "orders.csv"
SHELVES = {"tea": 3, "coffee": 42}


def stock(item: str) -> dict[str, int | str]:
    """How many packs of an item there are.

    Args:
        item: The item, such as tea.
    """
    if item not in SHELVES:
        raise ValueError(f"there is no {item}; there are: {', '.join(SHELVES)}")
    return {"item": item, "packs": SHELVES[item]}


def order(item: str, packs: int, ctx: ToolContext) -> str:
    """Order packs of an item.

    Args:
        item: The item, such as tea.
        packs: How many packs.
    """
    # A call that a crash cut off runs again with the same key: the book tells whether it was written already.
    book = BOOK.read_text(encoding="utf-8").splitlines() if BOOK.exists() else []
    line = f"{ctx.idempotency_key},{item},{packs}"
    if line not in book:
        with BOOK.open("a", encoding="utf-8") as out:
            out.write(line + "\n")
    ctx.progress(f"{packs} packs of {item} are in the book")
    ctx.state["orders"] = [*ctx.state.get("orders", []), item]  # saved with this call's result
    return f"ordered {packs} packs of {item}"
