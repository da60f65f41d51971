"""C29: trimming is idempotent, makes nothing longer and breaks no character. Through the script."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import regex

from tests.cli.lovia import Lovia
from tests.field.kit import calls, make_agent, say

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
TEXTS = {
    "399": "x" * 399,
    "400": "x" * 400,
    "401": "x" * 401,
    "410": "x" * 410,
    "emoji": "\U0001f600" * 1000,
    "families": FAMILY * 200,
    "accents": "e\u0301\u0323" * 400,
    "lines": "".join(f"line {n}\r\n" for n in range(200)),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Session u1: run r1 got every text from one tool, run r2 one long one."""
    lovia = Lovia(tmp_path_factory.mktemp("texts"))
    lovia.write("texts.json", json.dumps(TEXTS))
    lovia.write(
        "tools.py",
        "import json\n\n\ndef text(name: str) -> str:\n    "
        '"""A text."""\n    return json.load(open("texts.json", encoding="utf-8"))[name]\n',
    )
    more = "tools: [./tools.py:text]"
    make_agent(
        lovia, [calls(*((f"c{n}", "text", {"name": name}) for n, name in enumerate(TEXTS))), say("read")], more=more
    )
    assert lovia("run", "agent.yaml", "a", "-s", "u1", "--run-id", "r1").code == 0
    make_agent(lovia, [calls(("c", "text", {"name": "emoji"})), say("read")], more=more)
    assert lovia("run", "agent.yaml", "b", "-s", "u1", "--run-id", "r2").code == 0
    return lovia.folder


@pytest.fixture
def session(template: Path, tmp_path: Path) -> Lovia:
    """A copy of that."""
    return Lovia(Path(shutil.copytree(template, tmp_path / "copy")))


def entries(lovia: Lovia) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lovia("show", "u1", "--json").json["entries"]
    return found


def outputs(lovia: Lovia) -> list[str]:
    return [entry["output"] for entry in entries(lovia) if entry["type"] == "tool_result"]


def trim(lovia: Lovia, *options: str) -> int:
    done = lovia("trim", "u1", *options, "-y", "--json")
    assert done.code == 0, done
    return int(done.json["trimmed"])


def clusters(text: str) -> list[str]:
    return [str(found) for found in regex.findall(r"\X", text)]


def test_c29_a_second_trim_cuts_nothing_and_changes_nothing(session: Lovia) -> None:
    before = entries(session)
    assert trim(session, "--keep-chars", "400", "--keep-runs", "1") == 4
    after, stored = entries(session), session.store_bytes()
    assert trim(session, "--keep-chars", "400", "--keep-runs", "1") == 0
    assert trim(session, "--keep-chars", "401") == 0
    assert session.store_bytes() == stored
    assert trim(session, "--keep-chars", "399") == 3
    assert trim(session, "--keep-chars", "0") == 8
    assert trim(session, "--keep-chars", "0") == 0
    changed = {"output", "trimmed"}
    kept = [[{k: v for k, v in entry.items() if k not in changed} for entry in found] for found in (before, after)]
    assert kept[0] == kept[1]
    assert session("doctor").code == 0


def test_c29_no_output_grows_and_no_character_is_broken(session: Lovia) -> None:
    whole = outputs(session)
    trim(session, "--keep-runs", "0")
    for text, cut in zip(whole, outputs(session), strict=True):
        assert len(cut) < len(text) or cut == text
        if cut != text:
            kept = cut[: cut.rindex("\n[")]
            assert len(kept) <= 400
            assert clusters(text)[: len(clusters(kept))] == clusters(kept)
            assert f"[{len(text) - len(kept)} of {len(text)} characters cut; recall_tool_result" in cut
    short = [len(text) for text in outputs(session)[:4]]
    assert short == [399, 400, 401, 410]


def test_c29_the_last_runs_and_every_checkpoint_are_untouched(session: Lovia) -> None:
    before = session.store_bytes()
    assert trim(session, "--keep-runs", "99") == 0
    assert session.store_bytes() == before
    assert trim(session) == 4
    after = session.store_bytes()
    changed = {name for name in before if before[name] != after.get(name)}
    assert [name.split("/")[0] for name in changed] == ["sessions"]
    assert {name.split("/")[0] for name in after.keys() - before.keys()} == {"results"}
    assert outputs(session)[-1] == TEXTS["emoji"]
    assert session("run", "agent.yaml", "a", "-s", "u1", "--run-id", "r1", "--json").json["replayed"] is True


@pytest.mark.parametrize("wrong", [["--keep-chars", "-1"], ["--keep-runs", "-1"], ["--keep-chars", "x"]])
def test_c29_negative_is_a_usage_error_and_changes_nothing(session: Lovia, wrong: list[str]) -> None:
    before = session.store_bytes()
    assert session("trim", "u1", *wrong, "-y").code == 2
    assert session("trim", "u1").code == 2
    assert session.store_bytes() == before


def test_m1_a_dry_run_counts_and_changes_nothing(session: Lovia) -> None:
    before = session.store_bytes()
    assert session("trim", "u1", "--dry-run").out == (
        "would cut 4 tool outputs of session u1, with a copy of each in the archive\n"
    )
    assert session.store_bytes() == before


def test_m2_without_an_archive_it_is_for_good(session: Lovia) -> None:
    done = session("trim", "u1", "--no-archive", "-y")
    assert done.out == "cut 4 tool outputs of session u1 for good\n"
    assert [text.endswith(" characters cut for good]") for text in outputs(session)[:8]] == [False] * 4 + [True] * 4
    assert not (session.folder / ".lovia" / "results").exists()
    assert trim(session) == 0


def test_m2_of_what_is_cut_further_only_what_the_archive_has_counts_as_a_copy(session: Lovia) -> None:
    trim(session)
    next((session.folder / ".lovia" / "results").glob("*/1-6.json")).unlink()
    done = session("trim", "u1", "--keep-chars", "100", "--keep-runs", "0", "-y")
    assert done.out == "cut 9 tool outputs of session u1, 8 of them with a copy in the archive\n"


def test_m2_the_next_run_recalls_what_was_cut(session: Lovia) -> None:
    trim(session)
    recall = "recall_tool_result"
    make_agent(session, [calls(("x", recall, {"reference": "r1/1.6"}), ("y", recall, {"reference": "c4"})), say("ok")])
    assert session("run", "agent.yaml", "what was it?", "-s", "u1", "--run-id", "r3").code == 0
    found = [entry for entry in entries(session) if entry["run_id"] == "r3" and entry["type"] == "tool_result"]
    assert [entry["output"] for entry in found] == [TEXTS["families"], TEXTS["emoji"]]


def test_m1_the_next_run_goes_on(session: Lovia) -> None:
    trim(session, "--keep-runs", "0", "--keep-chars", "10")
    make_agent(session, [say("fine")])
    assert session("run", "agent.yaml", "go on", "-s", "u1").out == "fine\n"
    assert len(entries(session)) == 2 * len(TEXTS) + 2 + 4 + 2


def test_m2_an_output_for_which_the_archive_has_no_place_stays_whole_and_is_told_of(lovia: Lovia) -> None:
    """The id had another run before, whose output the archive keeps: it is never replaced."""
    lovia.write("tools.py", "def text(name: str) -> str:\n    return name * 200\n")
    for name, session in (("first", "a"), ("other", "b")):
        make_agent(lovia, [calls(("c", "text", {"name": name})), say("read")], more="tools: [./tools.py:text]")
        for run_id in ("r", f"last-{session}"):
            assert lovia("run", "agent.yaml", "x", "-s", session, "--run-id", run_id).code == 0
        if session == "a":
            assert (
                lovia("trim", "a", "-y").out == "cut 1 tool output of session a, with a copy of each in the archive\n"
            )
            assert lovia("rm", "run:r", "-y").code == 0
    told = "1 left whole, which the archive has no place for: --no-archive cuts for good"
    assert lovia("trim", "b", "--dry-run").out == f"would cut 0 tool outputs of session b; {told}\n"
    assert lovia("trim", "b", "-y").out == f"cut 0 tool outputs of session b; {told}\n"
    assert lovia("trim", "b", "-y", "--json").json["left_whole"] == 1
    assert lovia("trim", "b", "-y", "--no-archive", "--json").json["trimmed"] == 1
    assert lovia("trim", "b", "-y", "--json").json["left_whole"] == 0
