"""Archived tool outputs: one file each, beside the sessions they were cut from (M2)."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from stores import codec
from stores.errors import StoreBusyError, StoreDamagedError, StoreError
from stores.file.disk import Folder, remove_folder
from stores.file.locks import ARCHIVED, lock_of, waited_for
from stores.file.names import name_of
from stores.file.root import Root
from stores.references import ResultRef

RESULTS = "results"


class FileResultStore:
    """A `ResultStore` in a ``.lovia`` folder: ``results/RUN/STEP-POSITION.json``.

    ``path`` is the folder. The first write makes it, unless ``create`` is False: then it raises `StoreError`.
    """

    def __init__(self, path: str | Path | Root, *, create: bool = True) -> None:
        self._root = path if isinstance(path, Root) else Root(path, create=create)
        self._call = self._root.worker.call

    def is_begun(self) -> bool:
        """True once an output was put: a store in which nothing was ever archived has no place for it."""
        return os.path.isdir(self._root.part(RESULTS))

    async def put(self, reference: ResultRef, output: str) -> bool:
        async with self._held(reference.run_id):
            return await self._call(self._put, reference, output)

    def _held(self, run_id: str) -> AbstractAsyncContextManager[None]:
        """The lock under which outputs of the run are written: what stands there unfinished is a killed process's."""

        def take() -> bool:
            with self._root.make_folder(*ARCHIVED):
                return lock.try_take()

        def refusal() -> StoreError:
            return StoreBusyError(f"the archived outputs of run {run_id!r} are being changed", hint="try again later")

        lock = lock_of(self._root.part(*ARCHIVED), name_of(run_id))
        return waited_for(self._root, lock, take, refusal)

    def _put(self, reference: ResultRef, output: str) -> bool:
        with self._root.make_folder(RESULTS, name_of(reference.run_id)) as folder:
            stored = read_output(folder, reference)
            if stored is None:
                write_result(folder, reference, output)
            else:
                folder.sync()  # who put it may have been killed before that
            return stored in (None, output)

    async def get(self, reference: ResultRef) -> str | None:
        return await self._call(self._get, reference)

    def _get(self, reference: ResultRef) -> str | None:
        with self._root.open_folder(RESULTS, name_of(reference.run_id)) as folder:
            return read_output(folder, reference) if folder else None

    async def drop(self, run_id: str) -> None:
        async with self._held(run_id):
            await self._call(self._drop, run_id)

    def _drop(self, run_id: str) -> None:
        with self._root.open_folder(RESULTS) as results:
            if results and name_of(run_id) in results.names():
                remove_folder(results.where(name_of(run_id)))
                results.sync()


def file_of(reference: ResultRef) -> str:
    """The name of its file, in the folder of its run."""
    return f"{reference.step}-{reference.position}.json"


def write_result(folder: Folder, reference: ResultRef, output: str) -> None:
    """Place the output durably, over what is left of an older one."""
    place = {"id": reference.run_id, "step": reference.step, "position": reference.position}
    folder.write(file_of(reference), codec.encode({"kind": "result", **place, "output": output}))


def read_output(folder: Folder, reference: ResultRef) -> str | None:
    """The output under that reference; None when there is none."""
    found = read_result(folder, file_of(reference))
    if found is not None and found[0] != reference:
        raise StoreDamagedError(_ANOTHER, where=folder.where(file_of(reference)))
    return found[1] if found else None


def read_result(folder: Folder, file: str) -> tuple[ResultRef, str] | None:
    """Reference and output of the file of that name, checked both ways; None when there is none."""
    data = folder.read(file)
    if data is None:
        return None
    found = codec.decode(data, "result", where=folder.where(file))
    run_id, step, position, output = (found.get(name) for name in ("id", "step", "position", "output"))
    if not isinstance(run_id, str) or not isinstance(step, int) or not isinstance(position, int):
        raise StoreDamagedError("the file lacks a field", where=folder.where(file))
    reference = ResultRef(run_id, step, position)
    if not isinstance(output, str) or file_of(reference) != file or not folder.path.endswith(f"/{name_of(run_id)}"):
        raise StoreDamagedError(_ANOTHER, where=folder.where(file))
    return reference, output


_ANOTHER = "the file holds another result than its name says"
