"""The right to execute one run, and the only code that writes one.

The order of writes is what makes every crash resumable. Each line is one durable step:

    fresh, restart,   chunk 1 of a new key; the session's open marker; the ref = COMMIT; then the old data goes
    import
    save              the tail chunk
    seal              the next chunk; the ref
    status            back into running: the ref first. Out of it: the chunk, then the ref
"""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar

from stores import codec
from stores.errors import RunExistsError, StoreError, StoreWriteError
from stores.file.chunks import Chunk, read_from
from stores.file.disk import Folder, remove_folder
from stores.file.forking import begin_fork, note_beginning, note_begun, release
from stores.file.locks import RunLock, is_cancelled
from stores.file.markers import remove_marker, write_marker
from stores.file.names import chunk_name, name_of, new_key
from stores.file.refs import Ref, read_ref
from stores.file.root import Root
from stores.file.snapshots import newest
from stores.file.survey import lost_data
from stores.file.tail import Tail
from stores.records import RunSnapshot, Save, Status

T = TypeVar("T")


class FileLease:
    """A `PromptLease`. The checkpointer makes it, and ends it with `close`."""

    def __init__(self, root: Root, run_id: str, lock: RunLock) -> None:
        self._root = root
        self._run_id = run_id
        self._lock = lock
        self._runs: Folder | None = None
        self._data: Folder | None = None
        self._ref: Ref | None = None
        self._tail: Tail | None = None
        self._written: int | None = None
        self._old_key: str | None = None
        self._is_open = self._is_broken = self._is_over = False

    async def load(self) -> RunSnapshot | None:
        return await self._root.worker.look(self._load)

    @property
    def is_prompt(self) -> bool:
        return self._root.worker.is_prompt

    def save_now(self, save: Save) -> None:
        self._root.worker.save_now(self._save, save)

    async def save(self, save: Save) -> None:
        await self._root.worker.save(self._save, save)

    async def fork(self, source_id: str, forked: Save) -> None:
        await self._root.worker.save(self._fork, source_id, forked)

    async def import_log(self, saves: list[Save]) -> None:
        await self._root.worker.save(self._import, saves)

    async def cancel_requested(self) -> bool:
        return is_cancelled(self._root, self._run_id, self._lock.owner)

    def close(self) -> None:
        """End the lease: nothing is written any more, and the run is free."""
        self._is_over = True
        self._lock.release()
        for folder in (self._runs, self._data):
            if folder:
                folder.close()
        self._root.worker.close_all(self._written)
        self._written = None

    def _load(self) -> RunSnapshot | None:
        self._open()
        return newest(self._root, self._ref) if self._ref else None

    def _open(self) -> None:
        """Find out, once, where the run stands, and put right what a crash left half done."""
        if self._is_over:
            raise StoreWriteError(f"the lease of run {self._run_id!r} has ended", hint="take the run again")
        if self._is_open:
            return
        self._runs = self._runs or self._root.make_folder("runs")
        ref = read_ref(self._runs, name_of(self._run_id))
        if ref is None and not self._lock.is_first and (lost := lost_data(self._root, self._run_id)):
            raise lost
        if ref and ref.is_deleted:
            self._old_key, ref = ref.key, None
        if ref:
            self._adopt(ref)
        self._is_open = True

    def _adopt(self, ref: Ref) -> None:
        """Roll forward what lies beyond the ref, sweep what a killed writer left, and be ready to go on.

        A writer may have been killed between a rename and its flush. Nobody acts on what a power cut could undo: what
        is found is made durable first.
        """
        known(self._runs).sync()
        if dropped := ref.drop:
            release(self._root, dropped)
        with self._root.open_folder("data", ref.key) as data:
            chunks: list[Chunk] = list(read_from(data, self._run_id, ref.key, ref.tail, ref.tail)) if data else []
            fresh = ref.bring_up(chunks)
        data = self._data = self._root.make_folder("data", ref.key)
        data.sweep()
        data.sync()
        if (fresh.tail, fresh.status) != (ref.tail, ref.status):
            fresh.fields.pop("drop", None)
            fresh.write(known(self._runs), by=data)
        self._ref, self._tail = fresh, Tail.of(chunks[-1])

    def _save(self, save: Save) -> None:
        line = codec.encode_save(save)
        self._open()
        self._lock.sign()
        if self._is_broken:
            raise StoreWriteError(
                f"an earlier save of run {self._run_id!r} failed; nothing more is written", hint="resume the run"
            )
        last = self._tail.last if self._tail else 0
        if save.number not in (1, last + 1):
            raise StoreWriteError(f"save {save.number} of run {self._run_id!r} does not follow save {last}")
        self._is_broken = True  # until this save is known to be whole
        if save.number == 1:
            self._begin(save, line)
        else:
            self._go_on(save, line)
        self._is_broken = False

    def _go_on(self, save: Save, line: bytes) -> None:
        ref, tail = known(self._ref), known(self._tail)
        runs, data = known(self._runs), known(self._data)
        if ref.status != Status.RUNNING:
            ref.fields["status"] = Status.RUNNING.value
            ref.point_at(tail.n, "")
            ref.write(runs, by=data)
            ref.fields["status"] = tail.status
        ref.advance_by(save)
        ref.fields.pop("drop", None)
        sealed = not tail.has_room(line)
        if sealed:
            tail = self._tail = tail.next(self._run_id, ref.key)
        tail.add(line, save)
        replaced, self._written = self._written, data.write_open(chunk_name(tail.n), tail.lines.bytes())
        self._root.worker.close_soon(replaced)
        if sealed or ref.status != Status.RUNNING:
            ref.point_at(tail.n, tail.lines.sum)
            ref.write(runs, by=data)

    def _fork(self, source_id: str, forked: Save) -> None:
        """The first save that is the run's own, behind those of its source."""
        runs = self._unused()
        ref, tail, data = begin_fork(self._root, self._run_id, source_id, forked)
        self._data = data
        ref.point_at(1, tail.lines.sum)
        ref.write(runs, by=data)  # where this fails the ref may be there: its data stays
        note_begun(data)
        self._ref, self._tail = ref, tail
        if self._old_key:
            release(self._root, self._old_key)

    def _import(self, saves: list[Save]) -> None:
        """All of a log as one first chunk: what a crash leaves of it is no run that has lost its ref."""
        runs, ref = self._unused(), Ref.new(self._run_id, new_key(self._run_id))
        tail = Tail(self._run_id, ref.key, sets={}, own=saves[-1].number)
        for save in saves:
            ref.advance_by(save)
            tail.add(codec.encode_save(save), save)
        self._write_first(runs, ref, tail, is_noted=True)
        note_begun(known(self._data))
        if self._old_key:
            release(self._root, self._old_key)

    def _unused(self) -> Folder:
        """The folder of refs, in which the run has none, nor a history that was kept."""
        self._open()
        self._lock.sign()
        runs = known(self._runs)
        stored = read_ref(runs, name_of(self._run_id))
        if stored and (not stored.is_deleted or stored.fields.get("keep")):
            raise RunExistsError(f"run {self._run_id!r} exists already", hint="use a new run id")
        return runs

    def _begin(self, save: Save, line: bytes) -> None:
        """The first save of a run, or of its restart: one atomic step, the ref's (R4)."""
        old, runs = self._ref, known(self._runs)
        ref = Ref.new(self._run_id, new_key(self._run_id))
        ref.advance_by(save)
        if dropped := old.key if old else self._old_key:
            ref.fields["drop"] = dropped
        tail = Tail(self._run_id, ref.key, sets={})
        tail.add(line, save)
        self._write_first(runs, ref, tail)
        if dropped:
            release(self._root, dropped)
        if old and old.session_id != ref.session_id:
            remove_marker(self._root, old)

    def _write_first(self, runs: Folder, ref: Ref, tail: Tail, *, is_noted: bool = False) -> None:
        """The data of a run that begins, and then its ref."""
        if self._data:
            self._data.close()
        data = self._data = self._root.make_folder("data", ref.key)
        try:
            if is_noted:
                note_beginning(data)
            data.write(chunk_name(1), tail.lines.bytes())
            write_marker(self._root, ref, by=data)
        except StoreError:
            self._discard(ref.key)
            raise
        ref.point_at(1, tail.lines.sum)
        ref.write(runs, by=data)
        self._ref, self._tail = ref, tail

    def _discard(self, key: str) -> None:
        """Data that no ref names, after a write failed: nothing is lost with it, and an error is on its way."""
        with suppress(StoreError):  # then the doctor finds it
            remove_folder(self._root.part("data", key))


def known(value: T | None) -> T:
    """``value``, which `FileLease._open` has set."""
    assert value is not None
    return value
