"""File names from ids: short, safe on every disk, and different for different ids.

A name is what is readable of the id, a dot, and 130 bits of its hash, so neither letter case nor Unicode
form, separators, dots or length of an id reach the file system. The id itself stands in the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from base64 import b32encode
from functools import lru_cache

DROPPED = "dropped.json"
"""In a run's data folder: no run has it any more, and it stays for the forks that read it."""
BEGINNING = ".beginning.tmp"
"""In a run's data folder: its ref is not written yet. It goes with unfinished files, which its name makes it one of."""
FORKS = "forks"
"""In a run's data folder, and in a session's: a mark of each fork that reads what is there."""

_UNSAFE = re.compile(r"[^a-z0-9_-]+")
_ID = re.compile(rb'"id":("(?:[^"\\]|\\.)*")')
_SEGMENT = re.compile(r"(\d{6,})\.(\d+)-([a-z2-7]{26})\.json")
_KEY = re.compile(r"[0-9a-f]{20}(?:[0-9a-f]{6})?")
_NAME = re.compile(r"[a-z0-9_-]{1,40}\.[a-z2-7]{26}")
_UNHINTED = 20
_CHUNK = re.compile(r"(\d{6,})\.json")


@lru_cache(maxsize=4096)
def name_of(record_id: str) -> str:
    """The file name of a run or session id, without ``.json``: at most 67 bytes."""
    readable = _UNSAFE.sub("", record_id.lower()[:255])[:40] or "_"
    return f"{readable}.{digest(record_id)}"


def is_name(text: str) -> bool:
    """True for what `name_of` makes."""
    return _NAME.fullmatch(text) is not None


def digest(record_id: str) -> str:
    """26 letters and digits, 130 bits of the id's sha256."""
    return b32encode(hashlib.sha256(record_id.encode("utf-8", "surrogatepass")).digest())[:26].decode().lower()


def new_key(run_id: str) -> str:
    """The name of a new data folder: random, so that a restarted run never meets its old data, and a hint whose."""
    return os.urandom(10).hex() + _hint(run_id)


def may_be_of(key: str, run_id: str | None) -> bool:
    """False for a data folder that surely is another run's; None is any. An earlier version's key has no hint."""
    return run_id is None or len(key) == _UNHINTED or key.endswith(_hint(run_id))


def _hint(run_id: str) -> str:
    return hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def is_key(text: object) -> bool:
    """True for what `new_key` makes. Nothing else becomes part of a path."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def chunk_name(number: int) -> str:
    return f"{number:06d}.json"


def chunk_number(name: str) -> int | None:
    """The number that `chunk_name` wrote; None for any other name."""
    found = _CHUNK.fullmatch(name)
    return int(found[1]) if found and chunk_name(int(found[1])) == name else None


def segment_name(number: int, epoch: int, run_id: str) -> str:
    return f"{number:06d}.{epoch}-{digest(run_id)}.json"


def parse_segment_name(name: str) -> tuple[int, int, str] | None:
    """Number, epoch and hash of the run id; None for any other name."""
    found = _SEGMENT.fullmatch(name)
    return (int(found[1]), int(found[2]), found[3]) if found else None


def readable_id(data: bytes | None, name: str) -> str:
    """The id of a damaged record: from its bytes when its hash proves it, else its file name."""
    for found in _ID.finditer(data or b""):
        try:
            record_id = json.loads(found[1])
        except ValueError:
            continue
        if name_of(record_id) == name:
            return str(record_id)
    return name
