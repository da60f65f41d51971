"""What the support agent can do. Tickets go into a file beside this one."""

import json
from pathlib import Path

from lovia_cli.tools.base import ToolContext

TICKETS = Path(__file__).parent / "tickets.jsonl"
ORDERS = {"1001": "delivered", "1002": "lost on its way"}


def find_order(order: str) -> dict[str, str]:
    """Look an order up.

    Args:
        order: Its number.
    """
    if order not in ORDERS:
        raise ValueError(f"there is no order {order}")
    return {"order": order, "state": ORDERS[order]}


def open_ticket(order: str, about: str, ctx: ToolContext) -> str:
    """Open a ticket for the people of the shop.

    Args:
        order: The order's number.
        about: What is wrong, in a few words.
    """
    ticket = {"order": order, "about": about, "session": ctx.session_id}
    with TICKETS.open("a", encoding="utf-8") as tickets:
        tickets.write(json.dumps(ticket) + "\n")
    return f"ticket for order {order} is open"
