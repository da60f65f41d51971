"""What holds for every verb there is; a new one has its rows in ``verbs.py`` or fails here."""

import pytest

from tests.cli.lovia import Lovia, call
from tests.cli.verbs import MAKING, MAKING_NOTHING, NAMING, all_verbs


def test_every_verb_has_its_rows() -> None:
    assert all_verbs() == set(NAMING) | set(MAKING_NOTHING) | MAKING


@pytest.mark.parametrize("verb", sorted(all_verbs()))
def test_every_verb_has_a_help_that_says_what_it_does(lovia: Lovia, verb: str) -> None:
    ran = lovia(*verb.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: lovia {verb} [OPTIONS]")
    assert list(lovia.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("verb", "argv"), [(verb, argv) for verb, lines in MAKING_NOTHING.items() for argv in lines], ids=str
)
def test_x5_no_other_verb_makes_anything(lovia: Lovia, verb: str, argv: list[str]) -> None:
    lovia.agent([{"text": "hi"}])
    before = sorted(lovia.folder.rglob("*"))
    ran = lovia(verb, *argv)
    assert "Traceback" not in ran.err
    assert sorted(lovia.folder.rglob("*")) == before


@pytest.mark.parametrize("verb", NAMING)
def test_x5_an_unknown_id_makes_nothing(lovia: Lovia, verb: str) -> None:
    ran = lovia(*verb.split(), "nosuch", *NAMING[verb].options)
    assert (ran.code, ran.out) == (5, "")
    what = "session" if NAMING[verb].of == "session" else "run or session"
    assert f"no {what} 'nosuch'" in ran.err
    assert list(lovia.folder.iterdir()) == []


@pytest.mark.parametrize("form", ["text", "json", "ndjson"])
@pytest.mark.parametrize("verb", NAMING)
def test_x5_an_unknown_id_names_those_that_look_like_it(lovia: Lovia, verb: str, form: str) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "trip-1", "-s", "trips")
    before = lovia.store_bytes()
    ran = lovia(*verb.split(), "trip-2", *NAMING[verb].options, "-o", form)
    assert ran.code == 5
    near = "trips" if NAMING[verb].of == "session" else "trip-1"
    assert f"did you mean '{near}'" in ran.err
    if form == "text":
        assert ran.out == ""
    else:
        last = ran.lines[-1]
        kind = "session" if NAMING[verb].of == "session" else "run"
        assert (last["exit_code"], last["error"]["code"]) == (5, f"{kind}_not_found")
        assert near in last["error"]["hint"]
    assert lovia.store_bytes() == before


@pytest.mark.parametrize("verb", NAMING)
def test_c23_what_is_no_id_is_a_usage_error_of_every_verb(lovia: Lovia, verb: str) -> None:
    for name in ("", " ", "a\nb", "a\x1bb", "x" * 256):
        ran = lovia(*verb.split(), name, *NAMING[verb].options)
        assert (ran.code, ran.out) == (2, ""), ran
    assert list(lovia.folder.iterdir()) == []


# --- text that means something to a terminal (X1, X3) -----------------------------------------------------------------

EVIL = "a\x1b]0;t\x07b\x1b[2K\rOK\x9b31mc\u202ed [/tmp] [bold]x[/bold] :smile:"
ODD_ID = "see [/tmp] [bold]x[/bold] :smile: \u202ed"


def evil_run(lovia: Lovia) -> None:
    """An unfinished run and a finished one, all of whose text and ids are odd; r2 of the session is finished."""
    lovia.write("tools.py", f'def say() -> str:\n    "Say."\n    return {EVIL!r}\n')
    evil = {"reasoning": EVIL, "text": EVIL, "tool_calls": [{"id": EVIL, "name": "say", "arguments": {}}]}
    lovia.agent([evil, call(EVIL), {"text": EVIL}], tools="tools: [./tools.py:say]")
    lovia("run", "agent.yaml", EVIL, "--run-id", "2" + ODD_ID, "-s", "s" + ODD_ID)
    lovia("run", "agent.yaml", EVIL, "--run-id", "1" + ODD_ID, "-s", "s" + ODD_ID, "--max-steps", "1")


@pytest.mark.parametrize("verb", NAMING)
def test_x3_x1_no_verb_lets_text_act_on_a_terminal_or_changes_it(lovia: Lovia, verb: str) -> None:
    evil_run(lovia)
    row = NAMING[verb]
    name = ("s" if row.of == "session" else "1") + ODD_ID
    for argv in (
        [name, *row.options],
        ["nosuch" + ODD_ID, *row.options],
        [name, "--" + EVIL],
        [name, *row.options, EVIL],
    ):
        ran = lovia(*verb.split(), *argv, "-v")
        for stream in (ran.out, ran.err):
            assert not [char for char in stream if char != "\n" and not char.isprintable()], ran
            assert "Traceback" not in stream
        assert "[/tmp] [bold]x[/bold] :smile:" in ran.out + ran.err


@pytest.mark.parametrize("verb", ["history", "show"])
def test_x3_every_listing_and_its_json(lovia: Lovia, verb: str) -> None:
    evil_run(lovia)
    for argv in ([verb, "s" + ODD_ID], [verb, "--last"], ["history"], ["history", "--status", "interrupted"]):
        ran = lovia(*argv)
        assert not [char for char in ran.out if char != "\n" and not char.isprintable()], ran
    assert lovia(verb, "--last", "--json").json["run_id"] == "1" + ODD_ID


def test_x3_a_dry_run_and_a_conversation_show_no_sequence(lovia: Lovia) -> None:
    evil_run(lovia)
    ran = lovia("run", "agent.yaml", "more", "-s", "s" + ODD_ID, "--max-steps", "9", "--dry-run")
    assert ran.code == 0
    assert not [char for char in ran.out if char != "\n" and not char.isprintable()], ran
