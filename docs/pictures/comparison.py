"""Draws docs/pictures/comparison.png: the page that `lovia compare --html` writes of a trip and of its fork with rain.

    python docs/pictures/comparison.py [FILE.png]

Needs a headless Chromium: bash .ci/services/chromium.sh
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PICTURE = HERE / "comparison.png"
BROWSER = ROOT / ".venv-services/chromium/bin/browser"
SIZE = "1000,1535"
SCENE = [
    ["run", "trip/agent.yaml", "Plan a weekend", "--run-id", "trip"],
    ["fork", "trip", "--from-step", "1", "--tool-result", '1.1="Lisbon: rain, 15 °C"', "--run"],
    ["compare", "trip.fork-1", "--html", "page.html"],
]


def main() -> int:
    if not BROWSER.exists():
        print("there is no browser: bash .ci/services/chromium.sh", file=sys.stderr)
        return 1
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        kept = shutil.ignore_patterns("*.jsonl", "tool-calls.txt", "__pycache__", ".lovia")
        shutil.copytree(ROOT / "examples" / "trip", place / "trip", ignore=kept)
        env = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
        for words in SCENE:
            command = [Path(sys.executable).parent / "lovia", *words]
            subprocess.run(command, cwd=place, env=env, check=True, capture_output=True)
        photograph(place / "page.html", picture.absolute(), place)
    return 0


def photograph(page: Path, picture: Path, home: Path) -> None:
    """What the browser shows of the page, at the top."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}"]
    options += [f"--user-data-dir={home / 'browser'}", f"--screenshot={picture}"]
    subprocess.run([BROWSER, *options, page.as_uri()], check=True, capture_output=True, timeout=60)


if __name__ == "__main__":
    sys.exit(main())
