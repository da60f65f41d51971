"""The picture in the README is what the commands in it look like."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "docs" / "pictures" / "terminal.py"


def test_the_picture_of_a_terminal_is_what_it_looks_like() -> None:
    drawn = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, "as it looks\n", "")
