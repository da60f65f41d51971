"""Ctrl-C while lovia loads: an import is not broken off, it ends first.

Python would raise `KeyboardInterrupt` wherever it stands, and not every module survives that in the middle of its
import: one that is compiled may crash the process, a library may turn it into an error of its own, and the import
system itself may drop it, so that the command goes on as if nobody had pressed anything.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found] # signal without its enums, which take longer than all else here
import os
import sys

TYPE_CHECKING = False  # until the handler stands, Ctrl-C is a traceback
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_PYDANTIC = f"{os.sep}pydantic{os.sep}"
_TOOL_LOADER = f"lovia_cli{os.sep}tools{os.sep}loading.py"


def hold_while_loading() -> None:
    """From now on Ctrl-C is a `KeyboardInterrupt` as ever, but never within an import: then it comes right after.

    A second one during that import leaves at once. A tool's own module may take as long as it likes, or hang, so what
    is held back there is the imports that it makes. Where Ctrl-C is ignored it stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Held().received)


class _Held:
    """The handler. ``until`` is the frame whose end Ctrl-C waits for; whoever profiles the process sees no more of it.

    Python drops a profile function that raises, so there is none to give back.
    """

    def __init__(self) -> None:
        self.until: FrameType | None = None

    def received(self, _number: int, frame: FrameType | None) -> None:
        if self.until is not None:
            os._exit(130)
        self.until = _import_under_way(frame)
        if self.until is None:
            raise KeyboardInterrupt
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, _arg: Any) -> None:
        if event == "return" and frame is self.until:
            self.until = None
            sys.setprofile(None)
            raise KeyboardInterrupt


def _import_under_way(frame: FrameType | None) -> FrameType | None:
    """The outermost frame of the import that ``frame`` is part of; None when it is part of none."""
    outermost: list[FrameType] = []
    is_before = False
    while frame is not None:
        name = frame.f_code.co_filename
        is_loading = name.startswith("<frozen importlib") or _PYDANTIC in name
        if is_loading and is_before:
            outermost[-1] = frame
        elif is_loading:
            outermost.append(frame)
        elif name.endswith(_TOOL_LOADER):
            outermost = outermost[:-1]  # the import of the tool's module itself
            break
        is_before = is_loading
        frame = frame.f_back
    return outermost[-1] if outermost else None
