"""The runs of a store as a segment's file name tells of them: by the hashes of their ids."""

from __future__ import annotations

from contextlib import suppress

from stores.errors import StoreError
from stores.file.markers import write_marker
from stores.file.refs import Ref, read_ref
from stores.file.root import Root
from stores.file.snapshots import newest, read_snapshot
from stores.records import RunSnapshot, Status


class KnownRuns:
    """Those that have a ref now. Each checkpoint is read once."""

    def __init__(self, root: Root) -> None:
        self._root = root
        with root.open_folder("runs") as runs:
            self._names = {name.rpartition(".")[2]: name for name in runs.records()} if runs else {}
        self._completed: dict[str, RunSnapshot | None] = {}

    def ref(self, run_digest: str) -> Ref | None:
        """The ref of the run whose id has that hash, if it can be read."""
        with suppress(KeyError, StoreError), self._root.open_folder("runs") as runs:
            return read_ref(runs, self._names[run_digest])
        return None

    def completed(self, run_digest: str, session_id: str) -> RunSnapshot | None:
        """The run whose id has that hash, if it is a completed one of that session and its checkpoint is whole."""
        ref = self.ref(run_digest)
        return self._read(run_digest, ref) if ref and ref.session_id == session_id and not ref.is_deleted else None

    def kept(self, run_digest: str, session_id: str) -> RunSnapshot | None:
        """The same of a run that is gone, all but its history."""
        ref = self.ref(run_digest)
        is_kept = ref is not None and ref.is_deleted and ref.fields.get("keep")
        return self._read(run_digest, ref) if ref and is_kept and ref.session_id == session_id else None

    def _read(self, run_digest: str, ref: Ref) -> RunSnapshot | None:
        if run_digest not in self._completed:
            run = None
            with suppress(StoreError):
                run = newest(self._root, ref) if ref.is_deleted else read_snapshot(self._root, ref.run_id)
            self._completed[run_digest] = run if run and run.head.status == Status.COMPLETED else None
        return self._completed[run_digest]

    def mark(self, session_id: str, present: set[str]) -> str:
        """Mark the completed runs of the session that have no segment there: the next run heals them (R7). Says which.

        ``present`` are the hashes of the run ids that have one.
        """
        marked = []
        for run_digest in self._names.keys() - present:
            ref = self.ref(run_digest)
            if ref and self.completed(run_digest, session_id):
                write_marker(self._root, ref)
                marked.append(repr(ref.run_id))
        return f"; the next run of the session appends run {', '.join(sorted(marked))} again" if marked else ""
