"""The file store's checkpointer: leases, listings and history of runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from stores.entries import Entry
from stores.errors import RunLockedError, StoreError, StoreWriteError
from stores.file import reading
from stores.file.disk import Folder
from stores.file.forking import release
from stores.file.heads import head_at
from stores.file.lease import FileLease
from stores.file.listing import describe
from stores.file.locks import RunLock, leave_cancel, owned_names, read_owner
from stores.file.markers import marker_folder, read_marker, remove_marker, write_marker
from stores.file.moments import find_cut, step_entries
from stores.file.names import name_of
from stores.file.reading import find_ref, read_ref_of, steady
from stores.file.refs import DELETED, Ref, damaged, parse_ref, read_ref
from stores.file.root import Root
from stores.file.sessions import session_lock
from stores.file.snapshots import read_moment, read_snapshot
from stores.file.survey import look_into, lost_data, lost_ref
from stores.folding import without_collections
from stores.ids import check_id
from stores.lines import Damage, Owner, RunInfo, SaveInfo, newest_first
from stores.protocols import RunLease
from stores.records import RunHead, RunSnapshot, Save, Status
from stores.worker import wait_for


class FileCheckpointer:
    """A `Checkpointer`, `RunIndex`, `History`, `KeptHistories`, `RunLog`, `StepEntries` and `Fork` (R11).

    All in one ``.lovia`` folder, ``path``: the first write makes it, unless ``create`` is False: then it raises
    `StoreError`. What it knows of one id it finds by its name.
    """

    def __init__(self, path: str | Path | Root, *, create: bool = True) -> None:
        self._root = path if isinstance(path, Root) else Root(path, create=create)
        self._call = self._root.worker.call

    @asynccontextmanager
    async def lease(self, run_id: str) -> AsyncIterator[RunLease]:
        lock = await self._take(check_id(run_id, "run id"))
        lease = FileLease(self._root, run_id, lock)
        try:
            yield lease
        finally:
            await self._call(lease.close)

    async def _take(self, run_id: str) -> RunLock:
        """The run's lock. A reader may hold it for an instant, so a starter does not give up at once."""
        lock = RunLock(self._root, run_id)
        try:
            await wait_for(self._root.worker, lock.try_take, lock.refusal)
        except BaseException:  # a cancelled caller may have got it and not know
            await self._call(lock.release)
            raise
        return lock

    async def load(self, run_id: str) -> RunSnapshot | None:
        check_id(run_id, "run id")
        return await self._root.worker.look(steady, lambda: read_snapshot(self._root, run_id))

    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        if await self._call(read_ref_of, self._root, check_id(run_id, "run id")) is None:
            return False
        lock = await self._take(run_id)
        try:
            return await self._call(self._delete, run_id, keep_history)
        finally:
            await self._call(lock.release)

    def _delete(self, run_id: str, keep_history: bool) -> bool:
        """The ref's new status is the commit; what follows may be cut off, and is then done by the next owner."""
        ref = read_ref_of(self._root, run_id)
        if ref is None:
            return False
        existed = not ref.is_deleted
        if keep_history and ref.status == Status.RUNNING:
            ref = reading.brought_up(self._root, ref)  # a deleted run's ref names its newest data for good
        with self._root.make_folder("runs") as runs, self._root.make_folder("data", ref.key) as data:
            ref.fields["status"], ref.fields["keep"] = DELETED, keep_history
            ref.write(runs, by=data)
            remove_marker(self._root, ref)
            if not keep_history:
                release(self._root, ref.key)
                runs.unlink(f"{name_of(run_id)}.json")
                runs.sync()
        return existed

    async def request_cancel(self, run_id: str) -> Owner | None:
        return await self._call(leave_cancel, self._root, check_id(run_id, "run id"))

    async def runs(self) -> list[RunInfo]:
        return await self._root.worker.look(self._list)

    @without_collections()
    def _list(self) -> list[RunInfo]:
        with self._root.open_folder("runs") as runs:
            if runs is None:
                return []
            found = [(name, self._peek(runs, name)) for name in runs.records()]
        # Owners after refs: a run that begins in between has an owner, one that ends in between says so itself.
        owned = owned_names(self._root)
        infos = [self._info(name, ref, name in owned) if isinstance(ref, Ref) else ref for name, ref in found if ref]
        return newest_first(infos)

    @staticmethod
    def _peek(runs: Folder, name: str) -> Ref | RunInfo | None:
        """The ref of that name, or the line that says what is wrong with it. None: gone, or deleted."""
        data = None
        try:
            data = runs.read(f"{name}.json")
            ref = None if data is None else parse_ref(data, name, runs.where(f"{name}.json"))
            return None if ref is None or ref.is_deleted else ref
        except StoreError as error:
            return damaged(data, name, error)

    def _info(self, name: str, ref: Ref, is_owned: bool) -> RunInfo:
        """The run's line; one whose data is damaged still shows what its ref knows."""
        owner = read_owner(self._root, name) if is_owned else None
        try:
            return describe(self._root, ref, owner)
        except StoreError:
            return self._look(name) or ref.info("", owner)

    def _look(self, name: str) -> RunInfo | None:
        """The line of one run, read afresh until it holds still."""

        def read() -> RunInfo | None:
            with self._root.open_folder("runs") as runs:
                ref = read_ref(runs, name)
            if ref is None or ref.is_deleted:
                return None
            last.append(ref)
            return describe(self._root, ref, read_owner(self._root, name))

        last: list[Ref] = []
        try:
            return steady(read)
        except StoreError as error:
            info = last[-1].info("", None) if last else RunInfo(run_id=name, status="")
            info.damage = Damage.told_by(error)
            return info

    async def info(self, run_id: str) -> RunInfo | None:
        name = name_of(check_id(run_id, "run id"))
        info = await self._call(self._look, name)
        if info is None and (lost := await self._call(lost_data, self._root, run_id)):
            info = RunInfo(run_id=run_id, status="", damage=Damage.told_by(lost))
        if info and info.damage:
            info.run_id = run_id
        return info

    @asynccontextmanager
    async def open_runs(self, session_id: str) -> AsyncIterator[list[RunInfo]]:
        async with session_lock(self._root, check_id(session_id, "session id")):
            yield await self._call(self._open_runs, session_id, is_locked=True)

    async def open_infos(self, session_id: str) -> list[RunInfo]:
        return await self._call(self._open_runs, check_id(session_id, "session id"), is_locked=False)

    def _open_runs(self, session_id: str, *, is_locked: bool) -> list[RunInfo]:
        """What the session's markers lead to. Whoever has its lock tidies them up as well."""
        infos: list[RunInfo] = []
        with self._root.open_folder(*marker_folder(session_id)) as markers:
            if markers is None:
                return infos
            if is_locked:
                markers.sweep()
            for name in markers.records():
                info = self._opened(markers, name, session_id, tidies=is_locked)
                if info:
                    infos.append(info)
        return newest_first(infos)

    def _opened(self, markers: Folder, name: str, session_id: str, *, tidies: bool) -> RunInfo | None:
        """What the marker of that name leads to; one that leads nowhere goes, where it is ours to tidy.

        The ref is read before the marker: a run that is deleted meanwhile has lost its marker first, and is not lost.
        """
        with self._root.open_folder("runs") as runs:
            found = self._peek(runs, name) if runs else None
        if isinstance(found, RunInfo):
            return found
        try:
            marker = read_marker(markers, name)
        except StoreError:
            marker = None  # only a hint: the ref says all of it again, and the doctor mends the rest
        if marker and found is None and self._is_lost(marker):
            lost = lost_ref(self._root, marker["id"], marker["key"])
            return RunInfo(run_id=marker["id"], status="", session_id=session_id, damage=Damage.told_by(lost))
        if tidies and marker and (found is None or (found.key, found.session_id) != (marker["key"], session_id)):
            self._tidy(markers, marker, session_id)
        return self._info(name, found, True) if found and found.session_id == session_id else None

    def _is_lost(self, marker: dict[str, Any]) -> bool:
        """True for a run that has begun and whose ref is missing, not deleted."""
        return look_into(self._root, marker["key"]).has_begun and read_ref_of(self._root, marker["id"]) is None

    def _tidy(self, markers: Folder, marker: dict[str, Any], session_id: str) -> None:
        """A run that a crash kept from beginning, or from beginning anew: its data goes, unless it begins right now."""
        lock = RunLock(self._root, marker["id"])
        try:
            if not lock.try_take():
                return
        except RunLockedError:
            return
        try:
            ref = read_ref_of(self._root, marker["id"])
            if ref is None or ref.key != marker["key"]:
                with self._root.make_folder("runs") as runs:
                    runs.sync()  # what the ref says now is what it says after a power cut
                release(self._root, marker["key"])
            if ref is None or ref.is_deleted or ref.session_id != session_id:
                markers.unlink(f"{name_of(marker['id'])}.json")
            elif ref.key != marker["key"]:
                write_marker(self._root, ref)
        finally:
            lock.release()

    async def settle(self, run_id: str) -> None:
        ref = await self._call(find_ref, self._root, check_id(run_id, "run id"))
        if ref is not None:
            await self._call(remove_marker, self._root, ref)

    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        check_id(run_id, "run id")
        return await self._call(steady, lambda: reading.read_history(self._root, run_id, limit))

    async def moment(self, run_id: str, *, step: int | None = None, save: int | None = None) -> RunHead | None:
        check_id(run_id, "run id")
        return await self._call(steady, lambda: self._moment(run_id, step, save))

    def _moment(self, run_id: str, step: int | None, save: int | None) -> RunHead | None:
        cut = find_cut(self._root, run_id, step=step, save=save)
        return None if cut is None else head_at(self._root, cut)

    async def read_log(self, run_id: str) -> list[Save]:
        check_id(run_id, "run id")
        return await self._call(steady, lambda: reading.read_run_log(self._root, run_id))

    async def import_log(self, lease: RunLease, saves: list[Save]) -> None:
        if not isinstance(lease, FileLease):
            raise StoreWriteError("an import needs the lease of its own run", hint="take the run first")
        await lease.import_log(saves)

    async def step_entries(self, run_id: str, save: int) -> tuple[int, list[Entry]] | None:
        check_id(run_id, "run id")
        return await self._call(steady, lambda: self._step_entries(run_id, save))

    def _step_entries(self, run_id: str, save: int) -> tuple[int, list[Entry]] | None:
        cut = find_cut(self._root, run_id, save=save)
        return None if cut is None else step_entries(self._root, cut)

    async def fork(self, lease: RunLease, run_id: str, forked: Save) -> None:
        if not isinstance(lease, FileLease):
            raise StoreWriteError("a fork needs the lease of its own run", hint="take the run first, from this store")
        await lease.fork(check_id(run_id, "run id"), forked)

    async def kept_histories(self) -> list[RunInfo]:
        return await self._call(self._kept)

    def _kept(self) -> list[RunInfo]:
        """A ref that cannot be read is none of them: it stands among the runs, with its damage."""
        with self._root.open_folder("runs") as runs:
            found = [_kept_line(runs, name) for name in runs.records()] if runs else []
        return newest_first([info for info in found if info])

    async def kept_info(self, run_id: str) -> RunInfo | None:
        return await self._call(self._kept_info, check_id(run_id, "run id"))

    def _kept_info(self, run_id: str) -> RunInfo | None:
        with self._root.open_folder("runs") as runs:
            return _kept_line(runs, name_of(run_id))

    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        check_id(run_id, "run id")
        return await self._call(steady, lambda: read_moment(self._root, run_id, save))


def _kept_line(runs: Folder | None, name: str) -> RunInfo | None:
    """The line of the run in the ref of that name, when it is gone all but its history."""
    with suppress(StoreError):
        ref = read_ref(runs, name)
        if ref and ref.is_deleted and ref.fields.get("keep"):
            return ref.info(DELETED, None)
    return None
