"""Trimming as a pure function: shorter, honest, and cut where it does not hurt (M1, C29)."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from stores.conformance.samples import result
from stores.entries import ToolResultEntry
from stores.references import ResultRef, results_of
from stores.surgery import apply_cuts, trim_cuts
from stores.surgery.trimming import safe_end

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("abc", 0, ""),
        ("abc", 2, "ab"),
        ("abc", 3, "abc"),
        ("abc", 9, "abc"),
        ("", 0, ""),
        ("a\r\nb", 2, "a"),
        ("a\r\nb", 3, "a\r\n"),
        ("e\u0301e\u0301", 3, "e\u0301"),
        (f"a{FAMILY}b", 7, "a"),
        (f"a{FAMILY}b", 8, f"a{FAMILY}"),
        (FAMILY, 6, ""),
        ("\U0001f1f5\U0001f1f9\U0001f1ea\U0001f1f8", 3, "\U0001f1f5\U0001f1f9"),
        ("\U0001f44d\U0001f3fd!", 1, ""),
        ("\u1112\u1161\u11ab\u1100", 2, ""),
        ("\u0928\u093f", 1, ""),
        ('"caf\\u00e9"', 5, '"caf'),
        ('"caf\\u00e9"', 9, '"caf'),
        ('"caf\\u00e9"', 10, '"caf\\u00e9'),
        ('"a\\ud83d\\ude00b"', 8, '"a'),
        ('"a\\ud83d\\ude00b"', 13, '"a'),
        ('"a\\ud83d\\ude00b"', 14, '"a\\ud83d\\ude00'),
        ('"a\\n"', 3, '"a'),
        ("a\x1b[31mred", 4, "a"),
        ("a\x1b[31mred", 6, "a\x1b[31m"),
    ],
)
def test_c29_a_text_is_cut_between_two_characters(text: str, limit: int, kept: str) -> None:
    assert text[: safe_end(text, limit)] == kept


@given(
    st.text(alphabet=st.sampled_from(f"ab\r\n\u0301\u200d\ufe0f\U0001f3fd\U0001f1f5{FAMILY}\u1100\u1161")),
    st.integers(0, 20),
)
def test_c29_a_cut_is_the_last_border_of_a_cluster_that_fits(text: str, limit: int) -> None:
    ends = [0, *(found.end() for found in regex.finditer(r"\X", text))]
    assert safe_end(text, limit) == max(end for end in ends if end <= limit)


@given(st.text(max_size=30), st.integers(1, 40), st.lists(st.integers(0, 700), max_size=4), st.booleans())
def test_c29_no_output_grows_and_each_cut_once(text: str, times: int, keeps: list[int], archived: bool) -> None:
    whole = text * times
    (entry,) = entries = [result(1, output=whole)]
    for keep in keeps:
        cuts = trim_cuts("r", entries, keep, archived=archived)
        (entry,) = (new,) = apply_cuts(entries, cuts)
        assert isinstance(new, ToolResultEntry)
        assert len(new.output) < len(entries[0].output) if cuts else new == entries[0]
        assert trim_cuts("r", [new], keep, archived=archived) == []
        entries = [new]
    if entry.trimmed:
        kept = entry.trimmed["kept"]
        assert (entry.output[:kept], entry.trimmed["chars"]) == (whole[:kept], len(whole))
        assert f"[{len(whole) - kept} of {len(whole)} characters cut" in entry.output
    assert (entry.call_id, entry.step, entry.position, entry.kind) == ("call", 1, 1, "ok")


@pytest.mark.parametrize("trimmed", [{"kept": 2000}, {"kept": 2000, "chars": 10, "archived": True}, {"chars": 9}])
def test_m1_an_output_with_a_note_that_makes_no_sense_is_left_alone(trimmed: dict[str, int]) -> None:
    output = ToolResultEntry(call_id="c", output="x" * 2000, trimmed=trimmed)
    assert trim_cuts("r", [output], 400, archived=False) == []


def test_m2_a_reference_reads_as_it_is_written() -> None:
    for run_id in ("r", "a/b", "run/2.1", "x.1", "\U0001f680", "a/1.1/b"):
        reference = ResultRef(run_id, 12, 3)
        assert ResultRef.parse(str(reference)) == reference
    for text in ("", "r", "r/1", "r/1.0", "/1.1", "r/1.1.1x", "r/-1.1", "call_1", "r/1.1\n"):
        assert ResultRef.parse(text) is None, text


def test_m2_results_without_a_place_get_the_next_free_one_of_their_step() -> None:
    entries = [result(0), result(2), result(0), result(0, 2), result(1, 2)]
    assert [str(reference) for _, reference, _ in results_of("r", entries)] == [
        "r/1.1",
        "r/1.2",
        "r/1.3",
        "r/2.2",
        "r/2.1",
    ]
