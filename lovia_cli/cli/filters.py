"""Which lines of a listing are wanted: ``--status`` and ``--since``."""

from __future__ import annotations

import re
import time
from datetime import datetime

from lovia_cli.cli.durations import seconds_given
from lovia_cli.errors import UserError
from stores.records import Status

STATUSES = tuple(status.value for status in Status)


def status_given(given: str | None) -> str | None:
    """``--status``, checked; ``awaiting-approval`` is as good as ``awaiting_approval``."""
    if given is None:
        return None
    status = given.strip().lower().replace("-", "_")
    if status in STATUSES:
        return status
    from difflib import get_close_matches

    near = get_close_matches(status, STATUSES, n=1)
    hint = f"did you mean {near[0]}? Use" if near else "use"
    raise UserError(f"no status {given!r}", where="--status", hint=f"{hint} one of: {', '.join(STATUSES)}")


def since_given(given: str | None) -> float | None:
    """``--since`` in epoch seconds: so long ago, or a date, with or without a time, of here unless it has a zone."""
    if given is None:
        return None
    text = given.strip()
    if not re.match(r"\d{4}-", text):
        try:
            return time.time() - seconds_given("--since", text)
        except UserError as error:
            error.hint = "write 7d, 2h or 30m, or a date: 2026-01-31 or 2026-01-31T14:30"
            raise
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f"{given!r} is no date", where="--since", hint="write 2026-01-31 or 2026-01-31T14:30, or 7d, 2h, 30m"
        ) from None
