"""Columns, broken lines and times: whatever is in them, they fit, and nothing is lost that need not be."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from lovia_cli.render.table import Column, table
from lovia_cli.render.terminal import Paint, safe, shortened_middle, width
from lovia_cli.render.times import clock, when
from lovia_cli.render.words import counted
from lovia_cli.render.wrap import wrapped

COLUMNS = (Column("", 3, 3), Column("ID", 0, 36, is_id=True), Column("STATUS", 0, 11), Column("AGENT", 6, 8))
cells = st.lists(st.text(max_size=60), min_size=4, max_size=4)


@given(st.lists(cells, min_size=1, max_size=5))
def test_without_a_terminal_nothing_is_cut(rows: list[list[str]]) -> None:
    lines = list(table(COLUMNS, rows, Paint(False), None))
    assert len(lines) == len(rows) + 1
    for row, line in zip(rows, lines[1:], strict=True):
        assert all(safe(cell, lines=False).strip() in line for cell in row)


@given(st.lists(cells, min_size=1, max_size=5), st.integers(30, 250))
def test_at_a_terminal_every_record_is_one_line_that_fits(rows: list[list[str]], room: int) -> None:
    lines = list(table(COLUMNS, rows, Paint(False), room))
    assert len(lines) == len(rows) + 1
    assert max(map(width, lines)) <= room


def test_the_last_column_goes_before_an_id_is_cut_and_an_id_keeps_both_ends() -> None:
    row = ["run", "01a2286c-d4e4-7036-ac9f-43d6204cb702", "interrupted (limit)", "planner"]

    def fits(room: int) -> str:
        return re.sub("  +", "  ", list(table(COLUMNS, [row], Paint(False), room))[1])

    assert fits(80) == "run  01a2286c-d4e4-7036-ac9f-43d6204cb702  interrupted (limit)  planner"
    assert fits(70) == "run  01a2286c-d4e4-7036-ac9f-43d6204cb702  interrupted  planner"
    assert fits(60) == "run  01a2286c-d4e4-7036-ac9f-43d6204cb702  interrupted"
    assert re.fullmatch(r"01a2286c\S*\.\.\.\S*4cb702  interrupted", fits(40))


@given(st.text(max_size=100), st.integers(5, 50))
def test_an_id_that_is_cut_in_the_middle_fits(text: str, columns: int) -> None:
    line = safe(text, lines=False)
    cut = shortened_middle(line, columns)
    assert width(cut) <= columns
    assert cut == line or "..." in cut


@given(st.text(max_size=400), st.integers(30, 130))
def test_broken_lines_fit_and_hold_every_word(text: str, columns: int) -> None:
    body = safe(text)
    lines = list(wrapped(body, "assistant: ", "    ", columns))
    assert max(map(width, lines)) <= columns
    assert "".join("".join(lines).split()) == "assistant:" + "".join(body.split())


def test_lines_are_broken_between_words_and_those_there_are_stay() -> None:
    assert list(wrapped("one two three\n  four", "x: ", "  ", 11)) == ["x: one two", "  three", "    four"]
    assert list(wrapped("one\ttwo three", "x: ", "  ", None)) == ["x: one\ttwo three"]
    assert list(wrapped("a\tb", "x: ", "  ", 40)) == ["x: a   b"]


def test_a_long_id_is_cut_before_the_columns_beside_it() -> None:
    columns = [Column("ID", 0, 36, is_id=True), Column("SESSION", 5, 12, is_id=True), Column("AGENT", 6, 8)]
    rows = [["r" * 255, "release-2026-10-01", "release-bot"], ["u" * 36, "s", "a"]]
    _, first, second = table(columns, rows, Paint(False), 100)
    assert first.split()[1:] == ["release-2026-10-01", "release-bot"]
    assert (width(first), second.split()) == (100, ["u" * 36, "s", "a"])
    _, first, _ = table(columns, rows, Paint(False), 60)
    assert width(first.split()[0]) == 36


def test_times_are_short_where_they_are_looked_at_and_exact_where_they_are_kept() -> None:
    now = time.time()
    ago = [(5, " 5 s ago"), (90, " 1 min ago"), (7300, " 2 h ago"), (90_000, " 1 day ago"), (300_000, " 3 days ago")]
    assert [when(now - seconds, short=True) for seconds, _ in ago] == [said for _, said in ago]
    assert when(now - 10 * 86_400, short=True) == time.strftime("%Y-%m-%d", time.localtime(now - 10 * 86_400))
    assert when(now) == time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    assert when(None) == when(None, short=True) == "-"
    assert re.fullmatch(r"\d\d:\d\d:\d\d", clock(now, short=True))
    assert len(clock(now - 3 * 86_400, short=True)) == 19


def test_a_time_that_no_calendar_has_is_no_crash() -> None:
    assert when(1e300) == when(1e300, short=True) == "1e+300"


def test_a_number_and_its_noun() -> None:
    assert [counted(number, "step") for number in (0, 1, 1200)] == ["0 steps", "1 step", "1,200 steps"]
    assert [counted(number, "copy", "copies") for number in (1, 2)] == ["1 copy", "2 copies"]
