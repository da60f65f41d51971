"""The fixture of the command-line tests."""

from pathlib import Path

import pytest

from tests.cli.lovia import Lovia


@pytest.fixture
def lovia(tmp_path: Path, request: pytest.FixtureRequest) -> Lovia:
    """lovia in an empty folder; the installed script itself where a module says ``INSTALLED = True``."""
    return Lovia(tmp_path, installed=getattr(request.module, "INSTALLED", False))
