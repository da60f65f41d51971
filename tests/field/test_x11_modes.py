"""X11: the store is for its user's eyes only, whatever the umask, while a run is under way and after."""

import stat

from tests.cli.lovia import Lovia
from tests.field.kit import HANG_ONCE, calls, kill, make_agent, say, shell


def modes(lovia: Lovia) -> set[tuple[bool, int]]:
    store = lovia.folder / ".lovia"
    found = [path.lstat().st_mode for path in (store, *store.rglob("*"))]
    return {(stat.S_ISDIR(mode), stat.S_IMODE(mode)) for mode in found}


def test_x11_modes(lovia: Lovia) -> None:
    make_agent(lovia, [calls(("h", "hang", {})), say()], shell("hang", HANG_ONCE))
    for umask in ("022", "000", "077"):
        run = f"umask {umask}; lovia run agent.yaml go --session u{umask} --run-id r{umask}"
        kill(lovia, "run", "agent.yaml", "go", "--session", f"k{umask}", "--run-id", f"k{umask}")
        assert lovia.shell(run).code == 0
        assert lovia.shell(f"umask {umask}; lovia resume k{umask}").code == 0
        assert modes(lovia) == {(True, 0o700), (False, 0o600)}
        (lovia.folder / "again").unlink()
