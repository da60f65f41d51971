"""Draws docs/pictures/terminal.svg: the commands of a scene, run at a terminal of their own, as they look there.

    python docs/pictures/terminal.py            draw it
    python docs/pictures/terminal.py --check    exit 1 when it no longer looks like that
    ... | python docs/pictures/terminal.py --show > FILE.svg    what stands on stdin, such as `tmux capture-pane -e -p`

The scene is run in a copy of examples/. Times are set to fixed ones, so that two runs draw the same picture.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).parent
PICTURE = HERE / "terminal.svg"
EXAMPLES = HERE.parent.parent / "examples"
COLUMNS = 90
SCENE = [
    'lovia run trip/agent.yaml "Plan a weekend" --run-id trip --session holidays',
    "lovia history",
    "lovia resume --last",
]
KILLED_AT_FIRST = {"TRIP_KILL": "1"}
"""Makes the trip planner kill itself in the middle of a booking, the first time."""

CHAR, LINE, EDGE = 8.43, 19, 16
COLORS = {31: "#f47067", 32: "#57ab5a", 33: "#daaa3f"}
PAPER, INK, FAINT = "#22272e", "#cdd9e5", "#8b98a5"
Style = tuple[str, bool]
"""A colour, and whether it is bold."""


def main() -> int:
    if "--show" in sys.argv:
        sys.stdout.write(drawing(sys.stdin.read().splitlines()))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        kept = shutil.ignore_patterns("*.jsonl", "tool-calls.txt", "__pycache__", ".lovia")
        shutil.copytree(EXAMPLES, folder, ignore=kept, dirs_exist_ok=True)
        picture = drawing(list(scene(Path(folder))))
    if "--check" in sys.argv:
        same = PICTURE.read_text(encoding="utf-8") == picture
        print("as it looks" if same else f"{PICTURE.name} no longer looks like this; draw it again")
        return 0 if same else 1
    PICTURE.write_text(picture, encoding="utf-8")
    return 0


def scene(folder: Path) -> Iterator[str]:
    """The lines of the terminal, with their colours."""
    env = KILLED_AT_FIRST
    for command in SCENE:
        yield f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m"
        yield from settled(shown(["bash", "-c", command], folder, env)).rstrip("\n").split("\n")
        env = {}


def shown(argv: list[str], folder: Path, env: dict[str, str]) -> str:
    """What a command writes to its terminal."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "xterm-256color", **env},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(follower)
    seen = b""
    while piece := _read(leader):
        seen += piece
    os.close(leader)
    killed = process.wait() in (-9, 137)
    return seen.decode().replace("\r\n", "\n") + ("Killed\n" if killed else "")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # how Linux tells that the other end is closed
        return b""


def settled(text: str) -> str:
    """The text as it stands in the end, with the same times whenever it is drawn."""
    text = "\n".join(line.rsplit("\r\x1b[K", 1)[-1] for line in text.split("\n"))
    text = re.sub(r"[ \d]\d s ago", " 8 s ago", text)
    text = re.sub(r"\b\d+(\.\d)? s\b(?! ago)", "0.4 s", text)
    return "\n".join(in_call_order(text.split("\n")))


def in_call_order(lines: list[str]) -> list[str]:
    """Calls side by side end in any order; here they end as they began."""
    ordered: list[str] = []
    for is_result, group in groupby(lines, lambda line: line.startswith("< ")):
        some = list(group)
        ordered += sorted(some) if is_result else some
    return ordered


# --- drawing ----------------------------------------------------------------------------------------------------------


def drawing(lines: list[str]) -> str:
    """The lines as SVG: one text element a line, one span a colour."""
    columns = max([COLUMNS, *(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)])
    wide, high = round(columns * CHAR + 2 * EDGE), len(lines) * LINE + 2 * EDGE
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}">',
        f'<rect width="{wide}" height="{high}" rx="8" fill="{PAPER}"/>',
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
    ]
    for number, line in enumerate(lines, 1):
        spans = "".join(span(text, style, column) for column, text, style in pieces(line) if text.strip())
        out.append(f'<text y="{EDGE + number * LINE - 5}">{spans}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def span(text: str, style: Style, column: int) -> str:
    """Text at its column; ``textLength`` keeps the columns whatever font there is."""
    color, bold = style
    weight = ' font-weight="bold"' if bold else ""
    length = f'textLength="{len(text) * CHAR:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<tspan x="{EDGE + column * CHAR:.1f}" fill="{color}"{weight} {length}>{escape(text)}</tspan>'


def pieces(line: str) -> Iterator[tuple[int, str, Style]]:
    """The line's runs of one style, each with the column where it begins."""
    style: Style = (INK, False)
    column = 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            for code in part[2:-1].split(";"):
                style = styled(style, int(code or 0))
        elif part:
            yield column, part, style
            column += len(part)


def styled(style: Style, code: int) -> Style:
    """The style after one SGR code; what is not known changes nothing."""
    color, bold = style
    if code in (0, 39):
        return (INK, bold and code == 39)
    if code == 1:
        return (color, True)
    if code == 2:
        return (FAINT, bold)
    return (COLORS.get(code, color), bold)


if __name__ == "__main__":
    sys.exit(main())
