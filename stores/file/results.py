"""Archived tool outputs: one file each, beside the sessions they were cut from (M2)."""

from __future__ import annotations

from pathlib import Path

from stores import codec
from stores.errors import StoreDamagedError
from stores.file.disk import Folder, remove_folder
from stores.file.names import name_of
from stores.file.root import Root
from stores.references import ResultRef

RESULTS = "results"


class FileResultStore:
    """A `ResultStore` in a ``.lovia`` folder: ``results/RUN/STEP-POSITION.json``."""

    def __init__(self, path: str | Path | Root, *, create: bool = True) -> None:
        self._root = path if isinstance(path, Root) else Root(path, create=create)
        self._call = self._root.worker.call

    async def put(self, reference: ResultRef, output: str) -> bool:
        return await self._call(self._put, reference, output)

    def _put(self, reference: ResultRef, output: str) -> bool:
        with self._root.make_folder(RESULTS, name_of(reference.run_id)) as folder:
            stored = _read(folder, reference)
            if stored is None:
                place = {"id": reference.run_id, "step": reference.step, "position": reference.position}
                folder.write(_file(reference), codec.encode({"kind": "result", **place, "output": output}))
            return stored in (None, output)

    async def get(self, reference: ResultRef) -> str | None:
        return await self._call(self._get, reference)

    def _get(self, reference: ResultRef) -> str | None:
        with self._root.open_folder(RESULTS, name_of(reference.run_id)) as folder:
            return _read(folder, reference) if folder else None

    async def drop(self, run_id: str) -> None:
        await self._call(self._drop, run_id)

    def _drop(self, run_id: str) -> None:
        with self._root.open_folder(RESULTS) as results:
            if results and name_of(run_id) in results.names():
                remove_folder(results.where(name_of(run_id)))
                results.sync()


def _file(reference: ResultRef) -> str:
    return f"{reference.step}-{reference.position}.json"


def _read(folder: Folder, reference: ResultRef) -> str | None:
    """The output in that file, checked both ways; None when there is none."""
    data = folder.read(_file(reference))
    if data is None:
        return None
    where = folder.where(_file(reference))
    found = codec.decode(data, "result", where=where)
    if (found.get("id"), found.get("step"), found.get("position")) != (
        reference.run_id,
        reference.step,
        reference.position,
    ) or not isinstance(found.get("output"), str):
        raise StoreDamagedError("the file holds another result than its name says", where=where)
    return str(found["output"])
