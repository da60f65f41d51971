"""The picture in the README is what the commands in it look like."""

import subprocess
import sys
from pathlib import Path

import pytest

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
SCRIPT = PICTURES / "terminal.py"


def test_the_picture_of_a_terminal_is_what_it_looks_like() -> None:
    drawn = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, "as it looks\n", "")


@pytest.mark.services("chromium")
def test_the_picture_of_a_comparison_can_be_drawn_again(tmp_path: Path) -> None:
    """Its dots are the business of the browser and of its fonts."""
    picture = tmp_path / "again.png"
    drawn = subprocess.run(
        [sys.executable, PICTURES / "comparison.py", picture], capture_output=True, text=True, timeout=120, check=False
    )
    assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, "", "")
    assert header(picture) == header(PICTURES / "comparison.png")


def header(picture: Path) -> bytes:
    """That it is a PNG, and how wide and high."""
    return picture.read_bytes()[:24]
