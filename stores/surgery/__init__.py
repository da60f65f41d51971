"""Pure functions over lists of entries and segments, which every store and the engine call.

Nothing here reads or writes a store, and nothing changes what it is given.
"""

from stores.surgery.checksums import entries_checksum, same_entries
from stores.surgery.finalising import NOT_RUN_TO_ITS_END, cancelled
from stores.surgery.rewinding import RewindPlan, check_count, cut_short, cut_to, rewind_plan
from stores.surgery.trimming import Cut, apply_cuts, is_whole_of, trim_cuts

__all__ = [
    "NOT_RUN_TO_ITS_END",
    "Cut",
    "RewindPlan",
    "apply_cuts",
    "cancelled",
    "check_count",
    "cut_short",
    "cut_to",
    "entries_checksum",
    "is_whole_of",
    "rewind_plan",
    "same_entries",
    "trim_cuts",
]
