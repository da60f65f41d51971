"""Where the doctor puts what is damaged: moved aside, never deleted, since it may be all there is."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from stores.file.disk import Folder, flush, write_error
from stores.file.root import Root
from stores.findings import Finding


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding and how to mend it; ``mend`` is None where nothing can, or need, be done."""

    file: str
    what: str
    mend: Callable[[], None] | None = None
    is_leftover: bool = False

    def finding(self) -> Finding:
        return Finding(self.file, self.what, self.mend is not None, self.is_leftover)


def set_aside(root: Root, *parts: str) -> None:
    """Move a file or folder of the store into ``quarantine``, durably. Missing: nothing happens."""
    source = root.part(*parts)
    if not os.path.lexists(source):
        return
    with root.make_folder("quarantine") as quarantine:
        plain = "__".join(parts)
        taken = set(quarantine.names())
        name = next(name for name in (plain, *(f"{plain}.{n}" for n in range(1, len(taken) + 2))) if name not in taken)
        try:
            os.rename(source, quarantine.where(name))
        except OSError as error:
            raise write_error(error, source) from error
        quarantine.sync()
    with Folder.make(os.path.dirname(source)) as folder:
        flush(folder.fd)
