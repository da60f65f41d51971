"""Times for people: as it is here, exact where it is kept, and short where it is only looked at."""

from __future__ import annotations

import time

from lovia_cli.render.words import counted

_DAY = 86_400


def when(seconds: float | None, *, short: bool = False) -> str:
    """A time to the second; ``short`` is how long ago, and the date of what is older than a week."""
    if seconds is None:
        return "-"
    return _ago(seconds, time.time()) if short else _local("%Y-%m-%d %H:%M:%S", seconds)


def clock(seconds: float | None, *, short: bool = False) -> str:
    """A time among others of its kind; ``short`` leaves out the date of today."""
    if short and seconds is not None and _local("%x", seconds) == _local("%x", time.time()):
        return _local("%H:%M:%S", seconds)
    return when(seconds)


def _ago(seconds: float, now: float) -> str:
    passed = now - seconds
    if not -60 <= passed < 7 * _DAY:
        return _local("%Y-%m-%d", seconds)
    if passed < 60:
        return f"{max(0, int(passed)):>2} s ago"
    if passed < 3600:
        return f"{int(passed // 60):>2} min ago"
    if passed < _DAY:
        return f"{int(passed // 3600):>2} h ago"
    return f" {counted(int(passed // _DAY), 'day')} ago"


def _local(form: str, seconds: float) -> str:
    """In local time; a time that no calendar has is given as it is."""
    try:
        return time.strftime(form, time.localtime(seconds))
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"
