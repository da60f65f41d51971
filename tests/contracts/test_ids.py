"""What may be an id, and what a fresh one is."""

import uuid

import pytest

from stores.conformance.samples import IDS, REFUSED_IDS
from stores.errors import UserError
from stores.ids import check_id, new_id


@pytest.mark.parametrize("value", [*IDS, "a", "x" * 255, "\U0010ffff" * 255], ids=ascii)
def test_an_id_comes_back_unchanged(value: str) -> None:
    assert check_id(value) == value


@pytest.mark.parametrize("value", [*REFUSED_IDS, "\udfff", "\u2029", "\x1f", "\x9f", None, 7, b"run"], ids=ascii)
def test_what_is_no_id_is_refused_with_a_hint(value: object) -> None:
    with pytest.raises(UserError) as refusal:
        check_id(value, "session id")  # type: ignore[arg-type]  # what a caller without types may pass
    assert "session id" in refusal.value.message
    assert refusal.value.hint


def test_the_message_shows_no_control_character() -> None:
    with pytest.raises(UserError) as refusal:
        check_id("a\x1b[31m\x9b\u2028")
    assert refusal.value.message.isprintable()


def test_fresh_ids_are_ids_of_version_7_and_differ() -> None:
    fresh = [new_id() for _ in range(100)]
    assert len(set(fresh)) == 100
    assert {uuid.UUID(check_id(value)).version for value in fresh} == {7}


def test_fresh_ids_sort_by_the_millisecond_they_were_made_in() -> None:
    fresh = [new_id() for _ in range(100)]
    assert [value[:13] for value in fresh] == sorted(value[:13] for value in fresh)
