"""A run as it stands, or stood at one of its saves: its transcript, and its head."""

from __future__ import annotations

from stores.file.heads import head_at
from stores.file.locks import read_owner
from stores.file.moments import cut_at_end, find_cut
from stores.file.names import name_of
from stores.file.reading import read_ref_of
from stores.file.refs import Ref
from stores.file.root import Root
from stores.file.survey import lost_data
from stores.file.transcripts import transcript
from stores.records import RunSnapshot, Status


def read_snapshot(root: Root, run_id: str) -> RunSnapshot | None:
    """The newest snapshot, with the effective status (R3)."""
    ref = read_ref_of(root, run_id)
    if ref is None and (lost := lost_data(root, run_id)):
        raise lost
    if ref is None or ref.is_deleted:
        return None
    owner = read_owner(root, name_of(run_id))  # before the data: a run that ends in between has then ended
    snapshot = newest(root, ref)
    if snapshot and snapshot.head.status == Status.RUNNING and owner is None:
        snapshot.head.status = Status.INTERRUPTED.value
    return snapshot


def newest(root: Root, ref: Ref) -> RunSnapshot | None:
    """The snapshot after the run's last save, its status the stored one."""
    last, entries = transcript(root, (ref.run_id, ref.key, ref.tail), beyond=ref.status == Status.RUNNING)
    ref.check_newest(last)
    return RunSnapshot(run_id=ref.run_id, head=head_at(root, cut_at_end(ref, last)), entries=entries)


def read_moment(root: Root, run_id: str, number: int) -> RunSnapshot | None:
    """The run as it was at save ``number``; None when its history has not got it."""
    cut = find_cut(root, run_id, save=number)
    if cut is None:
        return None
    place = cut.chunk.header["id"], cut.chunk.header["key"], cut.chunk.n
    _, entries = transcript(root, place, beyond=False, upto=number)
    return RunSnapshot(run_id=run_id, head=head_at(root, cut), entries=entries)
