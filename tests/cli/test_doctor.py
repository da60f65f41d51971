"""``lovia doctor`` at places that are no store."""

import pytest

from tests.cli.lovia import Lovia


def test_doctor_refuses_a_store_that_is_not_there(lovia: Lovia) -> None:
    ran = lovia("doctor", "--store", "nope")
    assert (ran.code, ran.out) == (5, "")
    assert f"there is no store at {lovia.folder / 'nope'}" in ran.err


@pytest.mark.parametrize("inside", ["notes.txt", "data"])
def test_doctor_makes_no_store_of_a_folder_that_is_none(lovia: Lovia, inside: str) -> None:
    (lovia.folder / "mine").mkdir()
    (lovia.folder / "mine" / inside).mkdir()
    for command in (["doctor", "--repair"], ["history"]):
        ran = lovia(*command, "--store", "mine")
        assert (ran.code, ran.out) == (10, "")
        assert "this is no store" in ran.err
        assert "--repair" not in ran.err
    assert [entry.name for entry in (lovia.folder / "mine").iterdir()] == [inside]


@pytest.mark.parametrize("place", ["agent.yaml", "/dev/null", "to-file", "to-nothing"])
def test_what_cannot_be_a_store_is_not_to_be_repaired(lovia: Lovia, place: str) -> None:
    lovia.agent([{"text": "x"}])
    (lovia.folder / "to-file").symlink_to("agent.yaml")
    (lovia.folder / "to-nothing").symlink_to("nothing")
    for command in (["doctor"], ["doctor", "--repair"], ["history"], ["run", "agent.yaml", "go"]):
        ran = lovia(*command, "--store", place)
        assert (ran.code, ran.out) == (10, ""), (command, ran)
        assert "this is no store" in ran.err
        assert "--repair" not in ran.err


def test_d3_the_reason_is_in_the_first_line_of_an_error(lovia: Lovia) -> None:
    lovia.agent([{"text": "x"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    (ref,) = (lovia.folder / ".lovia" / "runs").iterdir()
    ref.write_bytes(b"")
    for command in (["show", "r1"], ["resume", "r1"]):
        ran = lovia(*command)
        assert ran.code == 10
        assert ran.err.splitlines()[:2] == ["error: run 'r1' cannot be read: the file is empty", f"  where: {ref}"]


def test_doctor_names_a_repair_only_for_what_it_can_mend(lovia: Lovia) -> None:
    lovia.agent([{"text": "x"}])
    for run_id in ("r1", "r2"):
        lovia("run", "agent.yaml", "go", "--run-id", run_id)
    first, second = sorted((lovia.folder / ".lovia" / "runs").iterdir())
    whole = first.read_bytes()
    first.write_bytes(whole.replace(b'{"v":1', b'{"v":2'))
    assert lovia("doctor").out.splitlines()[-1] == "1 found; a repair would change nothing"
    second.write_bytes(b"")
    assert lovia("doctor").out.splitlines()[-1] == "2 found; mend 1 of them with: lovia doctor --repair"
    assert lovia("doctor", "--repair").out.splitlines()[-1] == "2 found, 1 repaired, 1 left as it is"
    first.write_bytes(whole[:-5])
    assert lovia("doctor").out.splitlines()[-1] == "1 found; mend with: lovia doctor --repair"
