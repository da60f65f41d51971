"""Arguments in commands, and that no value is ever parsed again."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lovia_cli.errors import AgentFileError
from lovia_cli.tools.template import as_script, fill, variables


def sh(script: str, **arguments: object) -> str:
    done = subprocess.run(
        ["/bin/sh", "-c", as_script(script)], env=variables(arguments) | {"PATH": "/bin:/usr/bin"}, capture_output=True
    )
    assert done.stderr == b""
    return done.stdout.decode()


def test_an_element_stays_one_element() -> None:
    arguments = {"a": "x y; $(z) ${args.b}", "b": 2, "c": None, "d": True, "e": {"k": ["ä", None]}, "f": ""}
    command = [
        "${args.a}",
        "n=${args.b}",
        "${args.c}",
        "-${args.c}-",
        "${args.d}${args.b}",
        "${args.e}",
        "${args.f}",
        "$x",
    ]
    assert fill(command, arguments) == [
        "x y; $(z) ${args.b}", "n=2", "--", "true2", '{"k":["ä",null]}', "", "$x",
    ]  # fmt: skip


EVIL = "a  b' \" ; echo hacked $(echo hacked) `echo hacked` * \\ $HOME\nnext"


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("printf '[%s]' ${args.x}", f"[{EVIL}]"),
        ('printf "[%s]" "${args.x}"', f"[{EVIL}]"),
        ('printf "[%s]" "<${args.x}>"', f"[<{EVIL}>]"),
        ("printf '[%s]' pre${args.x}post", f"[pre{EVIL}post]"),
        ('printf "[%s]" "$(printf %s ${args.x})"', f"[{EVIL}]"),
        ('printf "[%s]" "$(printf %s "${args.x}" | cat)" ${args.x}', f"[{EVIL}][{EVIL}]"),
        ("( printf '[%s]' ${args.x} )", f"[{EVIL}]"),
        ("f() { printf '[%s]' ${args.x}; }; f other", f"[{EVIL}]"),
        ("# don't\nprintf '[%s]' ${args.x} # 'it", f"[{EVIL}]"),
        ("printf '[%s]' \\'${args.x}", f"['{EVIL}]"),
        ("printf '[%s]' \\${args.x}", "[${args.x}]"),
    ],
)
def test_no_value_is_parsed_by_the_shell(script: str, output: str) -> None:
    assert sh(script, x=EVIL) == output


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
def test_every_text_arrives_unchanged(text: str) -> None:
    assert sh('printf "[%s]" ${args.x} "${args.x}"', x=text) == f"[{text}][{text}]"


def test_an_argument_within_single_quotes_is_refused() -> None:
    with pytest.raises(AgentFileError) as caught:
        as_script("echo 'hello ${args.x}'")
    assert caught.value.message.startswith("'hello ${args.x}' has an argument within single quotes")
    assert as_script("echo '$x' \"it's ${args.x}\"") == "echo '$x' \"it's ${LOVIA_ARG_x}\""
