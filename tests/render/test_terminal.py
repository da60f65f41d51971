"""The one function that outside text passes, and what stands on it."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia_cli.render.terminal import quoted, safe, shortened, width

any_text = st.text(st.characters(exclude_categories=()))


@given(any_text)
def test_x3_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    for char in safe(text):
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp"), repr(char)
        assert char not in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(any_text)
def test_one_line_is_one_line(text: str) -> None:
    assert len(safe(text, lines=False).splitlines()) <= 1
    assert "\t" not in safe(text, lines=False)


@given(st.text(st.characters(categories=("L", "M", "N", "P", "S", "Zs", "Co", "Cn"))))
def test_all_else_is_as_it_was(text: str) -> None:
    assert safe(text) == text


def test_what_a_control_character_looks_like() -> None:
    assert safe("a\x1b[2J\x07\r\x9b\x7f\u202e\ud83d\tb\r\nc\n") == "a\\x1b[2J\\x07\\r\\x9b\\x7f\\u202e\\ud83d\tb\nc\n"
    assert safe("a\tb\r\nc\n", lines=False) == "a\\tb\\r\\nc\\n"


@given(any_text, any_text)
def test_a_stream_is_as_safe_as_the_whole(first: str, second: str) -> None:
    """Each character is looked at alone, so no sequence hides in the gap between two pieces."""
    assert safe(first) + safe(second) == safe(first + second) or "\r\n" in first + second


def test_columns_of_wide_and_of_combining_characters() -> None:
    assert [width(text) for text in ("abc", "世界", "e\u0301", "👩", "")] == [3, 4, 1, 2, 0]


@given(any_text, st.integers(3, 60))
def test_shortened_fits_in_its_columns(text: str, columns: int) -> None:
    line = shortened(text, columns)
    assert width(line) <= columns
    assert "\n" not in line


@pytest.mark.parametrize(
    "word",
    ["job-1", "a b", "it's", "$HOME", "-x", "~", "*", "a\\b", "\u202ea'\\b", "\u2066", "世界", "", "a!b", "\u200e\\'"],
)
def test_a_quoted_word_is_that_word_to_a_shell(word: str) -> None:
    script = f"import sys; assert sys.argv[1] == {word!r}, ascii(sys.argv)"
    line = f'{sys.executable} -c "$0" {quoted(word)}'
    done = subprocess.run(["bash", "-c", line, script], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=False)
    assert done.returncode == 0, done.stderr
    assert safe(quoted(word), lines=False) == quoted(word)
