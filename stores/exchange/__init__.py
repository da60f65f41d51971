"""A run or a session as a file to hand on: one JSON object a line, or one JSON object.

    {"v":1,"kind":"run","run_id":"trip","head":{...},"entries":4,"saves":6}
    {"type":"input","text":"Plan a weekend"}
    ...
    {"kind":"save","save":1,"step":0,"at":...,"event":"started","head":{...},"entries":[0]}
    ...
    {"kind":"end","sum":"..."}

The saves are the run's history; each names the entries that came with it by their place in the transcript, from 0, and
has those in full that a fork's patch has taken out of it. An export without saves is whole, but has no history. A
session has a line ``{"kind":"segment","run_id":...,"meta":{...},"entries":N}`` before the entries of each segment.
The one object of the other form holds the same, with its entries and segments as lists. ``sum`` is the SHA-256 of
that object without it, as compact JSON with sorted keys: whoever changes a file on purpose leaves it out.
"""

from stores.exchange.documents import Exported, RunRecord, SessionRecord, document_of, record_of, run_record
from stores.exchange.files import MAX_BYTES, lines_of, read_export, sealed, write_export

__all__ = [
    "MAX_BYTES",
    "Exported",
    "RunRecord",
    "SessionRecord",
    "document_of",
    "lines_of",
    "read_export",
    "record_of",
    "run_record",
    "sealed",
    "write_export",
]
