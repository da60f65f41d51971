"""The page of `lovia compare --html`, as people meet it in a browser: light, dark, on a phone, and by keyboard (H4)."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lovia_cli.comparing import Comparison, Fork, Trajectory, compare_trajectories
from lovia_cli.render.comparison_page import comparison_page
from tests.comparing.kit import Call, Step, run
from tests.services import PROGRAMS, ROOT

EVIL = "<script>alert(1)</script> <img src=http://127.0.0.1:9/x onerror=alert(2)> </style></pre> &lt; \x1b[2J\u202e"


def trips() -> Comparison:
    """Two runs with every kind of row and part, one of them a fork with all that can be patched, full of evil text."""
    long = " ".join(f"word{n}" for n in range(900))
    look = Step(
        "Let me look.", [Call("weather", {"city": "Lisbon"}, "sun"), Call("weather", {"city": "Porto"}, "rain")]
    )
    rain = look._replace(calls=[Call("weather", {"city": "Lisbon"}, "rain"), look.calls[1]])
    a = run(look, Step("ok"), Step("gone"), Step(calls=[Call("book", {"city": "Lisbon"}, long)]), Step("Beach."))
    b = run(
        rain,
        Step("ok"),
        Step(calls=[Call("book", {"city": "Faro", EVIL: EVIL}, f"{long} more")], reasoning=EVIL, then=EVIL),
        Step(EVIL),
        Step("x" * 400),
    )
    patch: list[dict[str, Any]] = [
        {"kind": "state", "was": {}, "now": {"n": 1}},
        {"kind": "tool_result", "call": "1.1", "tool": "weather", "was": "sun", "now": "rain"},
        {"kind": "input", "was": None, "now": EVIL},
        {"kind": "messages", "was": 4, "now": 3},
    ]
    one, other = Trajectory.of(a, "trip"), Trajectory.of(b, f"trip{EVIL}")
    other.fork = Fork(source="trip", save=4, step=1, patch=patch)
    return compare_trajectories(one, other)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a browser says of the page."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(comparison_page(trips()), encoding="utf-8")
    return visited(file)


def visited(file: Path) -> dict[str, Any]:
    python = PROGRAMS["chromium"].parent / "python"
    script = ROOT / "tests" / "servers" / "browser.py"
    done = subprocess.run([python, script, file], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.services("chromium")
def test_h4_the_page_asks_the_world_for_nothing_and_runs_nothing(seen: dict[str, Any]) -> None:
    assert [url.partition(":")[0] for url in seen["asked"]] == ["file"]
    assert (seen["said"], seen["blocked"]) == ([], True)
    assert "'http://127.0.0.1:9/' violates" in seen["violations"][0]
    assert seen["content"]["made"] == [0] * 6


@pytest.mark.services("chromium")
def test_x3_all_text_on_the_page_is_data(seen: dict[str, Any]) -> None:
    text = seen["content"]["text"]
    shown = EVIL.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert text.count(shown) >= 5
    assert "\x1b" not in text
    assert seen["content"]["title"] == f"trip and trip{shown}"


@pytest.mark.services("chromium")
def test_h4_both_runs_stand_beside_each_other_and_on_a_phone_below(seen: dict[str, Any]) -> None:
    views = seen["views"]
    assert {name: view["sides"] for name, view in views.items()} == {
        "desk": "beside",
        "desk-dark": "beside",
        "phone": "below",
        "phone-dark": "below",
    }
    assert {name: view["overflow"] for name, view in views.items()} == dict.fromkeys(views, 0)
    assert {name: view["small"] for name, view in views.items()} == dict.fromkeys(views, 0)


@pytest.mark.services("chromium")
def test_h4_the_page_is_light_and_dark_and_can_be_read_in_both(seen: dict[str, Any]) -> None:
    views = seen["views"]
    assert views["desk"]["paper"] == views["phone"]["paper"] == "rgb(255, 255, 255)"
    assert views["desk-dark"]["paper"] == views["phone-dark"]["paper"] == "rgb(20, 23, 26)"
    assert {name: view["faint"] for name, view in views.items()} == {name: [] for name in views}


@pytest.mark.services("chromium")
def test_h4_the_page_has_landmarks_and_headings_and_everything_a_name(seen: dict[str, Any]) -> None:
    content = seen["content"]
    assert (content["landmarks"], content["unnamed"], content["ids"], content["language"]) == ([1, 1, 1], 0, 0, "en")
    levels = [level for level, _ in content["headings"]]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in pairwise(levels))
    titles = [text for _, text in content["headings"]]
    assert [title for title in titles if title.startswith(("Step", "Input"))] == [
        "Step 1: the user state",
        "Step 1: the result of 1.1 weather",
        "Step 1: an input was added",
        "Step 1: the transcript was rewritten",
        "Step by step",
        "Input same",
        "Step 1 changed",
        "Step 2 same",
        "Step 3 only in A",
        "Step 4 of A, step 3 of B changed",
        "Step 5 of A, step 4 of B changed",
        "Step 5 only in B",
    ]


@pytest.mark.services("chromium")
def test_h4_everything_is_reached_by_keyboard_and_the_focus_is_seen(seen: dict[str, Any]) -> None:
    assert seen["skip"]["text"] == "Skip to the first difference"
    assert seen["skipped_to"] == "#row-1"
    assert seen["opened"]
    tabs = seen["tabs"]
    assert [one["text"] for one in tabs[1:3]] == ["step 1", "step 3, only in A"]
    assert {one["tag"] for one in tabs} == {"A", "SUMMARY"}
    assert [one for one in tabs if not one["shown"] or one["outline"] != "solid 3px"] == []


@pytest.mark.services("chromium")
def test_h4_what_differs_is_marked(seen: dict[str, Any]) -> None:
    marked = seen["content"]["marked"]
    assert marked["del"][:3] == ["sun", "4", "sun"]  # in the patch, and at its step
    assert marked["ins"][:2] == ['"n": 1', "rain"]
    assert "Lisbon" in marked["del"]
    assert "Faro" in marked["ins"]
    assert " more" in marked["ins"]


def test_h4_long_stretches_are_folded_and_nothing_is_left_out() -> None:
    page = comparison_page(trips())
    assert page.count('<details class="fold">') == 2
    assert "characters that are the same</summary>" in page
    assert page.count("word450 word451") == 2


def test_h4_many_differences_have_a_link_only_as_far_as_it_helps() -> None:
    a, b = (run(*[Step(f"{word} {n}") for n in range(60)]) for word in ("one", "other"))
    page = comparison_page(compare_trajectories(a, b))
    assert (page.count('<li><a href="#row-'), "and 20 more" in page) == (40, True)


def test_h4_a_fork_of_which_the_step_is_not_known_says_none() -> None:
    found = trips()
    found.sides[1].fork = Fork(source="trip", patch=[{"kind": "state", "was": {}, "now": {"n": 1}}])
    page = comparison_page(found)
    assert ("None" in page, "<bdi>trip</bdi>" in page, "<h3>The user state</h3>" in page) == (False, True, True)


def test_h4_runs_that_are_the_same_have_a_page_too() -> None:
    page = comparison_page(
        compare_trajectories(Trajectory.of(run(Step("hi")), "a"), Trajectory.of(run(Step("hi")), "b"))
    )
    assert "The same: 1 step" in page
    assert ("<del>" in page, "<nav" in page, 'href="#steps"' in page) == (False, False, True)
