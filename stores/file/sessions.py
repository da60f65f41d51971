"""The file store's sessions: append-only logs of segments."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from stores.entries import JSON, Entry
from stores.errors import SegmentDiffersError, StoreDamagedError, StoreError, StoreWriteError
from stores.file.disk import Folder
from stores.file.locks import SESSIONS, busy_session, lock_of, waited_for
from stores.file.names import is_name, name_of, readable_id
from stores.file.places import read_segment, session_folder
from stores.file.reading import steady
from stores.file.rewinding import rewind, sweep_dead
from stores.file.root import Root
from stores.file.segments import Log, encode_segment, read_log, read_segments, roll_forward, uncounted
from stores.file.session_forking import ancestors, bare_fork, confirm, prepare, refuse_taken, remove_emptied, unmark
from stores.file.session_json import SESSION, base_parts, own_session
from stores.file.session_writing import writing
from stores.file.vanished import is_vanished
from stores.ids import check_id, new_id
from stores.lines import Damage, SessionInfo, newest_first
from stores.protocols import ResultStore
from stores.records import Segment
from stores.surgery import check_count, entries_checksum
from stores.surgery.forking import lost_beginning, own_beginning
from stores.values import plain


@asynccontextmanager
async def session_lock(root: Root, session_id: str) -> AsyncIterator[None]:
    """The session's lock, waited for up to 30 s. What a killed holder has left in the session is durable then."""

    def take() -> bool:
        with root.make_folder(*SESSIONS):
            if not os.path.lexists(lock_file(root, session_id)):
                root.unused_sessions.add(session_id)
            if not lock.try_take():
                return False
        with root.open_folder(*session_folder(session_id)) as folder:
            if folder:
                folder.sync()
        return True

    lock = lock_of(root.part(*SESSIONS), name_of(session_id))
    async with waited_for(root, lock, take, lambda: busy_session(session_id)):
        yield


def lock_file(root: Root, session_id: str) -> str:
    """The file of a session's lock. It stays for good: where there is none, nothing was ever begun in the session."""
    return root.part(*SESSIONS, f"{name_of(session_id)}.lock")


def refuse_vanished(root: Root, session_id: str) -> None:
    """Raise for a session whose folder is gone though runs name it: it is never taken for a new one (D3).

    To look for them costs a listing, so one that was never used before is not looked for.
    """
    folder = root.part(*session_folder(session_id))
    if os.path.lexists(folder) or session_id in root.unused_sessions:
        return
    if os.path.lexists(lock_file(root, session_id)) and is_vanished(root, name_of(session_id)):
        raise StoreDamagedError(f"all of session {session_id!r} is missing, and runs name it", where=folder)


class FileSession:
    """A `Session` in one ``.lovia`` folder, which can be listed, rewound, trimmed and forked. For one machine.

    ``path`` is the folder. The first write makes it, unless ``create`` is False: then it raises `StoreError`.
    """

    def __init__(self, path: str | Path | Root, *, create: bool = True) -> None:
        self._root = path if isinstance(path, Root) else Root(path, create=create)
        self._call = self._root.worker.call

    async def segments(self, session_id: str) -> list[Segment]:
        check_id(session_id, "session id")
        return await self._root.worker.look(steady, lambda: self._segments(session_id))

    def _segments(self, session_id: str) -> list[Segment]:
        refuse_vanished(self._root, session_id)
        return read_segments(self._root, session_id)

    async def load(self, session_id: str) -> list[Entry]:
        return [entry for segment in await self.segments(session_id) for entry in segment.entries]

    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: dict[str, JSON] | None = None
    ) -> str:
        check_id(session_id, "session id")
        run_id = new_id() if run_id is None else check_id(run_id, "run id")
        stored = plain(meta or {})
        try:
            async with session_lock(self._root, session_id):
                await self._call(self._append, session_id, entries, run_id, stored)
        except StoreWriteError:  # a store that takes no write may hold it already
            if not await self._call(
                steady, lambda: _holds(read_log(self._root, session_id), run_id, entries_checksum(entries))
            ):
                raise
        return run_id

    def _append(self, session_id: str, entries: list[Entry], run_id: str, meta: dict[str, JSON]) -> None:
        refuse_vanished(self._root, session_id)
        log, checksum = read_log(self._root, session_id), entries_checksum(entries)
        if _holds(log, run_id, checksum):
            return
        place = log.find(run_id)
        with writing(self._root, session_id) as session:
            if log.fields.get("cleared"):
                sweep_dead(session.folder, ())  # an import that was cut off: what it left would be of an epoch to come
            roll_forward(log)
            if place is None:
                name, lines = encode_segment(log, run_id, entries, meta, checksum)
                session.write(name, lines)
                log.count(name, len(entries), lines.sum)
            session.write_session(log.fields)

    async def import_segments(self, session_id: str, segments: list[Segment]) -> None:
        from stores.file.importing import import_segments

        for segment in segments:
            check_id(segment.run_id, "run id")
        async with session_lock(self._root, check_id(session_id, "session id")):
            await self._call(import_segments, self._root, session_id, segments)

    async def clear(self, session_id: str) -> None:
        check_id(session_id, "session id")
        if await self._is_there(session_id):
            async with session_lock(self._root, session_id):
                await self._discard(session_id)

    async def _discard(self, session_id: str) -> None:
        """Clear the session, whose lock is held, and take away what only it read of those it began with.

        Its session.json goes last: beside a mark it must not be missing.
        """
        for source in await self._call(self._clear, session_id):
            async with session_lock(self._root, source):
                await self._call(unmark, self._root, source, session_id)
        await self._call(remove_emptied, self._root, session_id)

    async def _is_there(self, session_id: str) -> bool:
        return (await self._call(steady, lambda: read_log(self._root, session_id))).is_there

    def _clear(self, session_id: str) -> list[str]:
        """A new epoch without segments is the commit; then their files go.

        Returns the sessions that it began with, if it was forked.
        """
        log = read_log(self._root, session_id)
        bare = bare_fork(self._root, session_id) or log.fields
        shared = [str(part["session"]) for part in base_parts(bare.get("base"))]
        zero: dict[str, Any] = {"limit": 0, "count": 0, "entries": 0, "last": None, "last_sum": None}
        log.fields |= zero | {"base": None, "cleared": True, "epoch": log.fields["epoch"] + 1}
        with writing(self._root, session_id) as session:
            sweep_dead(session.folder, (place.file for place in log.places))
            session.write_session(log.fields)
            sweep_dead(session.folder, ())
        return shared

    async def fork_session(self, session_id: str | None, new_id: str, *, upto: str | None) -> None:
        check_id(new_id, "session id")
        await self._call(steady, lambda: refuse_taken(self._root, new_id))
        if upto is None or session_id is None:
            return
        if session_id == new_id:
            raise lost_beginning(session_id, upto)  # it is not there
        async with AsyncExitStack() as held:
            for one in (new_id, check_id(session_id, "session id")):
                await held.enter_async_context(session_lock(self._root, one))
            begun = await self._call(ancestors, self._root, session_id)
            if new_id in begun:
                raise own_beginning(session_id, new_id)
            for one in begun:
                await held.enter_async_context(session_lock(self._root, one))
            await self._call(prepare, self._root, session_id, new_id, upto)

    async def confirm_fork(self, new_id: str) -> None:
        found = await self._call(bare_fork, self._root, check_id(new_id, "session id"))
        if found and found.get("prepared"):
            async with session_lock(self._root, new_id):
                await self._call(confirm, self._root, new_id)

    async def drop_fork(self, new_id: str) -> bool:
        if not await self._call(bare_fork, self._root, check_id(new_id, "session id")):
            return False
        async with session_lock(self._root, new_id):
            is_bare = await self._call(bare_fork, self._root, new_id) is not None
            if is_bare:
                await self._discard(new_id)
        return is_bare

    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        check_id(session_id, "session id")
        check_count("keep_entries", keep_entries)
        if not await self._is_there(session_id):
            return 0
        async with session_lock(self._root, session_id):
            return await self._call(rewind, self._root, session_id, keep_entries)

    async def trim_tool_results(
        self, session_id: str, *, keep_chars: int = 400, keep_runs: int = 1, archive: ResultStore | None = None
    ) -> int:
        from stores.file.trimming import trim

        check_id(session_id, "session id")
        check_count("keep_chars", keep_chars)
        check_count("keep_runs", keep_runs)
        if not await self._is_there(session_id):
            return 0
        async with session_lock(self._root, session_id):
            return await trim(self._root, session_id, keep_chars, keep_runs, archive)

    async def sessions(self) -> list[SessionInfo]:
        return await self._root.worker.look(self._list)

    def _list(self) -> list[SessionInfo]:
        with self._root.open_folder("sessions") as sessions:
            if sessions is None:
                return []
            found = [self._info(sessions, name) for name in sessions.names() if is_name(name)]
        return newest_first(info for info in found if info)

    async def session_info(self, session_id: str) -> SessionInfo | None:
        return await self._call(self._look, check_id(session_id, "session id"))

    def _look(self, session_id: str) -> SessionInfo | None:
        with self._root.open_folder("sessions") as sessions:
            info = self._info(sessions, name_of(session_id)) if sessions else None
        if info and info.damage:
            info.session_id = session_id
        return info

    def _info(self, sessions: Folder, name: str) -> SessionInfo | None:
        """The session's line; None for a folder that holds no session (yet)."""
        file, data = f"{name}/{SESSION}", None
        try:
            data = sessions.read(file)
            fields = uncounted(self._root, name) if data is None else own_session(data, name, sessions.where(file))
        except StoreError as error:
            return SessionInfo(session_id=readable_id(data, name), segments=0, entries=0, damage=Damage.told_by(error))
        if fields is None or fields.get("cleared") or fields.get("prepared"):
            return None
        base = fields.get("base") or {}
        return SessionInfo(
            session_id=fields["id"],
            segments=fields["count"] + base.get("segments", 0),
            entries=fields["entries"],
            updated_at=fields.get("updated_at"),
        )

    async def has_segment(self, session_id: str, run_id: str) -> bool:
        check_id(session_id, "session id")
        check_id(run_id, "run id")
        return await self._call(steady, lambda: read_log(self._root, session_id).find(run_id) is not None)


def _holds(log: Log, run_id: str, checksum: str) -> bool:
    """True when the very segment is stored and counted; raises where another has its run id (S3)."""
    place = log.find(run_id)
    if place and read_segment(place, None)["checksum"] != checksum:
        raise SegmentDiffersError.of(log.session_id, run_id)
    return place is not None and place not in log.places[log.fields["count"] :]
