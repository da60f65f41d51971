"""A run's line of a listing, from its ref: of its data no more is read than the ref does not know."""

from __future__ import annotations

from stores.file.chunks import data_folder, read_from
from stores.file.heads import head_at
from stores.file.moments import cut_at_end
from stores.file.reading import brought_up
from stores.file.refs import Ref
from stores.file.root import Root
from stores.lines import Owner, RunInfo
from stores.records import Status


def describe(root: Root, ref: Ref, owner: Owner | None) -> RunInfo:
    """The run's line of a listing, its status the effective one (R3)."""
    if ref.status == Status.RUNNING:
        ref = brought_up(root, ref)
    status = Status.INTERRUPTED if ref.status == Status.RUNNING and owner is None else ref.status
    info = ref.info(str(status), owner)
    if elsewhere := ref.fields.get("elsewhere"):
        with data_folder(root, ref.run_id, ref.key, ref.tail) as folder:
            [*_, last] = read_from(folder, ref.run_id, ref.key, ref.tail, ref.tail, beyond=False)
        head = head_at(root, cut_at_end(ref, last))
        for name in elsewhere:
            setattr(info, name, getattr(head, name))
    return info
