"""What `lovia compare` prints, for a pipe and for terminals of every width (H4)."""

from __future__ import annotations

import re

import pytest

from lovia_cli.cli.compared import Compared
from lovia_cli.comparing import Fork, Trajectory, compare_trajectories
from lovia_cli.render.comparison import comparison
from lovia_cli.render.terminal import Paint, width
from tests.comparing.kit import Call, Step, run

SGR = re.compile("\x1b\\[[0-9;]*m")


def printed(a: Step, b: Step, *, columns: int | None = None, colours: bool = False, verbose: int = 0) -> list[str]:
    """The lines of the step, of two runs that have no other."""
    found = compare_trajectories(Trajectory.of(run(a), "one"), Trajectory.of(run(b), "other"))
    lines = list(comparison(Compared(store="", comparison=found), Paint(colours), verbose, columns))
    step = next(number for number, line in enumerate(lines) if "step 1" in line and number > 2)
    return lines[step + 1 : lines.index("", step)]


def test_h4_a_long_line_is_one_line_in_a_pipe_and_many_on_a_terminal() -> None:
    long = "é" + " word" * 40_000
    assert printed(Step(f"{long} one"), Step(f"{long} other")) == [
        f"  - assistant: {long} [-one-]",
        f"  + assistant: {long} {{+other+}}",
    ]
    word = "é" * 200_000
    lines = printed(Step(f"{word} one"), Step(f"{word} other"), columns=44, verbose=1)
    assert (len(lines), max(map(len, lines)), "".join(lines).count("é")) == (2 * 5001, 44, 400_000)


@pytest.mark.parametrize("colours", [True, False])
@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        ("done ", "done", ["  - assistant: done[- -]", "  + assistant: done"]),
        ("done\n", "done", ["  - assistant: done[-\\n-]", "  + assistant: done"]),
        ("one\ttwo", "one  two", ["  - assistant: one[-\\t-]two", "  + assistant: one{+  +}two"]),
        ("one\ntwo", "one\r\ntwo", ["  - assistant: one[-\\n-]", "  - two", "  + assistant: one{+\\r\\n+}", "  + two"]),
        (" ", "  ", ["  - assistant: [- -]", "  + assistant: {+  +}"]),
    ],
)
@pytest.mark.parametrize("columns", [None, 80])
def test_h4_spaces_that_differ_are_seen(a: str, b: str, shown: list[str], columns: int | None, colours: bool) -> None:
    lines = printed(Step(a), Step(b), columns=columns, colours=colours)
    assert [SGR.sub("", line) for line in lines] == shown


def test_h4_wide_characters_take_two_columns_beside_each_other() -> None:
    said, day = Step("天气很好", [Call("look", {"day": 1})]), Step("天气很好", [Call("look", {"day": 2})])
    lines = printed(said, day, columns=121)
    assert lines[0] == "    assistant: 天气很好" + " " * 36 + " |   assistant: 天气很好"
    assert {width(line.partition(" | ")[0]) for line in lines} == {59}


def test_h4_every_line_fits_the_terminal() -> None:
    a, b = ([*(Step(f"{n}", [Call(word, {"n": word})]) for n in range(9)), Step("end")] for word in ("one", "other"))
    one, other = Trajectory.of(run(*a), "one" * 20), Trajectory.of(run(*b[3:], *b), "other")
    other.fork = Fork(source="one" * 20, step=1, patch=[{"kind": "input", "was": None, "now": "more " * 20}])
    answer = Compared(store="", comparison=compare_trajectories(one, other))
    for columns in (20, 40, 119, 120, 300):
        lines = list(comparison(answer, Paint(False), 0, columns))
        assert max(map(width, lines)) <= columns
    assert lines[0] == f"A {'one' * 20}: 10 steps, 9 tool calls"
    assert lines[-1].startswith("they differ from step 1 on: ")
