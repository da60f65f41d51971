"""The strict reader: what it reads, what it refuses, and where it says that the fault is."""

from pathlib import Path

import pytest

from lovia_cli.errors import AgentFileError
from lovia_cli.yamlfile.reader import MAX_BYTES, MAX_DEPTH, Mark, Plain, parse_document, read_document


def read(text: str | bytes) -> object:
    return parse_document(text.encode() if isinstance(text, str) else text, file="f.yaml").root.data()


def faults(text: str | bytes) -> list[str]:
    """Every problem as it is shown, raised or noted."""
    try:
        document = parse_document(text.encode() if isinstance(text, str) else text, file="f.yaml")
    except AgentFileError as error:
        return [str(problem) for problem in error.problems]
    return [str(problem) for problem in document.problems]


def test_scalars_stay_as_written_and_remember_whether_they_were_quoted() -> None:
    data = read("a: no\nb: 012\nc: 3.10\nd: 2026-01-01\ne: 12:30\nf: 'no'\ng: |\n  12\nh:\n")
    assert data == {
        "a": "no", "b": "012", "c": "3.10", "d": "2026-01-01", "e": "12:30", "f": "no", "g": "12\n", "h": "",
    }  # fmt: skip
    assert isinstance(data, dict)
    assert [key for key, value in data.items() if isinstance(value, Plain)] == ["a", "b", "c", "d", "e", "h"]


def test_every_value_and_key_has_its_place() -> None:
    root = parse_document(b"a:\n  - x\n  - {k: [1, v]}\nb:\n", file="f.yaml").root
    inner = root.child("a")
    assert inner is not None
    mapping = inner.child(1)
    assert mapping is not None
    assert root.keys == {"a": Mark(1, 1), "b": Mark(4, 1)}
    assert (inner.mark, mapping.mark, mapping.keys["k"]) == (Mark(2, 3), Mark(3, 5), Mark(3, 6))
    value = mapping.child("k")
    assert value is not None
    assert [node.mark for node in value.value if not isinstance(node, str)] == [Mark(3, 10), Mark(3, 13)]


def test_a_key_without_a_value_is_placed_at_the_key() -> None:
    document = parse_document(b"a:\n\n\nb: 1\n", file="f.yaml")
    assert document.find(["a"]).mark == Mark(1, 1)


def test_find_stops_at_the_value_that_lacks_the_next_one() -> None:
    document = parse_document(b"a:\n  - {b: c}\n", file="f.yaml")
    assert document.find(["a", 0, "x", "y"]).mark == Mark(2, 5)
    assert document.find(["a", 7]).mark == Mark(2, 3)


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", b"a: 1\nb: 2", b"# c\n---\na: 1\nb: 2\n...\n"])
def test_windows_files_and_one_marked_document_are_fine(raw: bytes) -> None:
    assert read(raw) == {"a": "1", "b": "2"}


def test_c15_escaped_pairs_are_joined_and_half_ones_replaced() -> None:
    assert read(r'{"k\uD83D": "\uD83D x \uD83D\uDE00 \uDE00"}') == {"k\ufffd": "\ufffd x \U0001f600 \ufffd"}


REFUSED = [
    ("", "f.yaml: the file is empty (start with lines like 'name: ...')"),
    ("# only a comment\n", "f.yaml: the file is empty (start with lines like 'name: ...')"),
    ("- a\n", "f.yaml:1:1: the file holds a list, not keys with values (start with lines like 'name: ...')"),
    ("\njust text\n", "f.yaml:2:1: the file holds a single value, not keys with values "
     "(start with lines like 'name: ...')"),
    ("a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document starts here (keep one in a file)"),
    ("a: 1\nb: &x 2\n", "f.yaml:2:4: anchors (&x) are not supported (remove it)"),
    ("a: 1\nb: *x\n", "f.yaml:2:4: aliases (*x) are not supported (write the value out)"),
    ("a: !!str 1\n", "f.yaml:1:4: tags (tag:yaml.org,2002:str) are not supported "
     "(remove it; the field decides the type)"),
    ("a: !x {b: 1}\n", "f.yaml:1:4: tags (!x) are not supported (remove it; the field decides the type)"),
    ("b: 1\n<<: {a: 1}\n", "f.yaml:2:1: merge keys (<<) are not supported (write the keys out)"),
    ("%YAML 1.1\n---\na: no\n", "f.yaml:2:1: YAML directives (lines with %) are not supported (remove them)"),
    ("a: 1\n'a': 2\n", "f.yaml:2:1: duplicate key 'a', first on line 1 (keep one of them)"),
    ("a:\n  b: 1\n  c: 2\n  b: 3\n", "f.yaml:4:3: duplicate key 'b', first on line 2 (keep one of them)"),
    ("a: {1: x}\n", 'f.yaml:1:5: the key 1 is not text (quote it: "1")'),
    ("true: x\n", 'f.yaml:1:1: the key true is not text (quote it: "true")'),
    ("a: {3.10: x}\n", 'f.yaml:1:5: the key 3.10 is not text (quote it: "3.10")'),
    (": x\n", 'f.yaml:1:1: the key (nothing) is not text (quote it: "")'),
    ("? [a]\n: x\n", "f.yaml:1:3: a key must be text, not a list or a mapping (write plain text)"),
    ("a: b: c\n", "f.yaml:1:5: not valid YAML: mapping values are not allowed here"),
    ("a:\n\tb: 1\n", "f.yaml:2:1: not valid YAML: while scanning for the next token, "
     "found character '\\t' that cannot start any token"),
    ("a: [1\n", "f.yaml:2:1: not valid YAML: while parsing a flow sequence, expected ',' or ']', "
     "but got '<stream end>'"),
    ("a: 1\nb: \x1b[2J\n", 'f.yaml:2:4: the character U+001B is not allowed here '
     '(write it as an escape in double quotes, such as "\\e")'),
    ('a: 1\nb: "\\U00110000"\n', "f.yaml:2:2: an escape after here stands for no character "
     "(the last is \\U0010FFFF)"),
    (b"a: 1\nb: caf\xe9\n", "f.yaml:2:7: not valid UTF-8 (save the file as UTF-8)"),
    (b"\xff\xfea\x00", "f.yaml:1:1: not valid UTF-8 (save the file as UTF-8)"),
    (b"a: " + b"x" * MAX_BYTES, "f.yaml: the file is larger than 128 KB (split it, or move long texts out)"),
    ("a: " + "[" * 100_000, "f.yaml:1:53: nested more than 50 levels deep (flatten it)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "fault"), REFUSED, ids=[fault[:60] for _, fault in REFUSED])
def test_c39_refused_with_place_and_remedy(text: str | bytes, fault: str) -> None:
    assert faults(text) == [fault]


def test_the_limits_themselves_are_allowed() -> None:
    depth = MAX_DEPTH - 1  # the file itself is the first level
    assert read("a: " + "[" * depth + "]" * depth) is not None
    assert read(b"a: " + b"x" * (MAX_BYTES - 3)) == {"a": "x" * (MAX_BYTES - 3)}


def test_what_can_be_read_past_is_reported_together_and_the_first_value_of_a_key_stays() -> None:
    text = "a: 1\na: 2\nb: &x 3\nc: {<<: {d: 1}, 1: 2}\n"
    assert [fault.split(":")[1] for fault in faults(text)] == ["2", "3", "4", "4"]
    assert read(text) == {"a": "1", "b": "3", "c": {"<<": {"d": "1"}, "1": "2"}}


def test_a_missing_file_is_named_as_the_user_did(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError) as caught:
        read_document(tmp_path / "no.yaml", shown_as="no.yaml")
    assert (caught.value.message, caught.value.where) == ("cannot read the file: no such file or directory", "no.yaml")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_path_that_no_file_can_have_is_an_error(name: str) -> None:
    with pytest.raises(AgentFileError, match="cannot read the file"):
        read_document(Path(name))
