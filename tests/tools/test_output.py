"""The cap on a command's output (C25)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from lovia_cli.tools.output import CappedOutput

MARKER = re.compile(r"\n\[\.\.\. (\d+) bytes of output were cut here \.\.\.\]\n")


def capped(limit: int, *chunks: bytes) -> str:
    output = CappedOutput(limit)
    for chunk in chunks:
        output.feed(chunk)
    return output.text()


def test_c25_what_fits_is_whole() -> None:
    assert capped(8, b"abcd", b"", b"efgh") == "abcdefgh"
    assert capped(0) == ""


def test_c25_head_and_tail_are_kept() -> None:
    assert capped(8, b"abcdefghi") == "abcd\n[... 1 bytes of output were cut here ...]\nfghi"
    assert capped(7, *(b"%d" % n for n in range(10))) == "0123\n[... 3 bytes of output were cut here ...]\n789"
    assert capped(0, b"abc") == "\n[... 3 bytes of output were cut here ...]\n"


def test_c25_no_cut_falls_within_a_character() -> None:
    assert capped(8, "ä€ß€ä".encode()) == "ä\n[... 8 bytes of output were cut here ...]\nä"
    assert capped(10, "12😀67😀ab".encode()) == "12\n[... 10 bytes of output were cut here ...]\nab"


def test_c15_what_is_not_utf_8_is_replaced() -> None:
    assert capped(80, b"x\xffy\xed\xa0\x80") == "x\ufffdy\ufffd\ufffd\ufffd"


@given(st.text(max_size=60), st.integers(0, 40), st.integers(1, 9))
def test_c25_the_count_is_exact_and_kept_text_is_of_the_output(text: str, limit: int, step: int) -> None:
    data = text.encode()
    got = capped(limit, *(data[n : n + step] for n in range(0, len(data), step)))
    if len(data) <= limit:
        assert got == text
        return
    marker = list(MARKER.finditer(got))[-1]
    head, tail = got[: marker.start()], got[marker.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head.encode()) + len(tail.encode()) + int(marker[1]) == len(data)
    assert len(head.encode()) + len(tail.encode()) <= limit


@given(st.lists(st.binary(max_size=50)), st.integers(0, 40))
def test_c25_memory_is_bounded_whatever_comes(chunks: list[bytes], limit: int) -> None:
    output = CappedOutput(limit)
    for chunk in chunks:
        output.feed(chunk)
        assert len(output._head) + len(output._tail) <= 2 * limit + 50
    output.text().encode()
