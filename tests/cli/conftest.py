"""The fixture of the command-line tests."""

from pathlib import Path

import pytest

from tests.cli.lovia import Lovia


@pytest.fixture
def lovia(tmp_path: Path) -> Lovia:
    """The installed script in an empty folder."""
    return Lovia(tmp_path)
