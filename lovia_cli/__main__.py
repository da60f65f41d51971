"""``lovia`` and ``python -m lovia_cli``."""

from __future__ import annotations

import gc
import os
import sys

from lovia_cli.cli.interrupts import hold_while_loading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Carry out the command line and leave at once: a tool's thread that hangs keeps nobody waiting."""
    hold_while_loading()
    gc.set_threshold(50_000, 20, 100)  # starting makes many objects and hardly any garbage
    try:
        if sys.argv[1:2] == ["__complete"]:  # what a shell asks at every TAB: no parser is loaded for it
            from lovia_cli.cli.complete import main as complete

            code = complete(sys.argv[2:])
        else:
            try:
                from lovia_cli.cli.app import main as carry_out
            except KeyboardInterrupt:  # which came when the module stood, whole
                from lovia_cli.cli.app import stopped as carry_out
            code = carry_out()
    except KeyboardInterrupt:
        code = 130
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed, or its reader has gone
    os._exit(code)


if __name__ == "__main__":
    main()
