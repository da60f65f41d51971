"""Completion: what is proposed where, and that each shell really puts it on its line."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from lovia_cli.cli.grammar import FLAG, GLOBAL, VERBS
from lovia_cli.cli.parser import Verbs
from lovia_cli.cli.verbs import VERBS as COMMANDS
from tests.cli.lovia import SCRIPT, Lovia, Ran

ODD = [
    "user:42", "a b", "it's", 'q"uote', "dol$lar", "me@home", "éclair 世界", "-dash", "x=y", "tick`", "back\\slash",
    "run:odd", "wow!", "{b,c}", "~tilde", "*glob?", "semi;&|", "#hash",
]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Lovia:
    """A folder with runs of odd ids, one of them in a session, and one id that is a run and a session."""
    lovia = Lovia(tmp_path_factory.mktemp("store"))
    lovia.agent([{"text": "hi"}])
    for run_id in ODD:
        lovia("run", "agent.yaml", "go", "--run-id", run_id)
    lovia("run", "agent.yaml", "go", "--run-id", "in-u1", "-s", "u1")
    lovia("run", "agent.yaml", "go", "--run-id", "both", "-s", "both")
    return lovia


def proposed(lovia: Lovia, *words: str) -> list[str] | str:
    """What is proposed for the last word; "files" where the shell should propose its own."""
    ran = lovia("__complete", "zsh", *words)
    assert (ran.code, ran.err) == (0, "")
    kind, *lines = ran.out.splitlines()
    return lines if kind == "words" else kind


# --- what is proposed -------------------------------------------------------------------------------------------------


def test_the_grammar_is_what_the_commands_take() -> None:
    taken: dict[str, dict[str, bool]] = {}
    for name in COMMANDS:
        command = Verbs(name="lovia").get_command(None, name)
        for verb, one in getattr(command, "commands", {"": command}).items():
            taken[f"{name} {verb}".strip()] = options_of(one)
    known = {
        name: {option: wanted == FLAG for option, wanted in {**GLOBAL, **verb.options}.items() if option[:3] != "-h"}
        for name, verb in VERBS.items()
    }
    for table in known.values():
        del table["--help"]
    assert known == taken


def options_of(command: Any) -> dict[str, bool]:
    """A command's options by name; True for those without a value."""
    options = [param for param in command.params if param.param_type_name == "option"]
    return {name: bool(option.is_flag or option.count) for option in options for name in option.opts}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], list(dict.fromkeys(name.split()[0] for name in VERBS))),
        (["h"], ["history"]),
        (["-"], sorted([*GLOBAL, "--version"])),
        (["history", "--no"], ["--no-color"]),
        (["history", "--ver"], ["--verbose"]),
        (["run", "--if"], ["--if-run-exists"]),
        (["run", "--if-run-exists", "re"], ["resume", "restart", "resume-only"]),
        (["run", "--if-run-exists=f"], ["--if-run-exists=fail"]),
        (["run", ""], "files"),
        (["run", "agent.yaml", ""], []),
        (["-o", ""], ["text", "json", "ndjson"]),
        (["-o", "json", "histo"], ["history"]),
        (["-ojson", "histo"], ["history"]),
        (["validate", "-o", "g"], ["github"]),
        (["validate", "a.yaml", ""], "files"),
        (["init", "--template", ""], ["basic", "tools"]),
        (["schema", ""], ["agent", "events", "run", "comparison", "replay"]),
        (["schema", "agent", ""], []),
        (["runs", ""], ["finalize"]),
        (["runs", "finalize", "in"], ["in-u1"]),
        (["completion", "z"], ["zsh"]),
        (["resume", "in-u1", ""], []),
        (["resume", "--agent", ""], "files"),
        (["resume", "--max-steps", ""], []),
        (["--store", ""], "files"),
        (["nosuch", ""], []),
        (["nosuch", "--js"], ["--json"]),
        (["show", "u"], ["user:42", "u1"]),
        (["-qv", "show", "u"], ["user:42", "u1"]),
        (["show", "--step", "1", "u1"], ["u1"]),
        (["show", "run:u"], ["run:user:42"]),
        (["show", "session:"], ["session:u1", "session:both"]),
        (["show", "run:run"], ["run:run:odd"]),
        (["show", "b"], ["back\\slash"]),
        (["show", "--", "-d"], ["-dash"]),
        (["show", "-d"], []),
        (["run", "--session", ""], ["u1", "both"]),
        (["run", "-s", "u"], ["u1"]),
        (["run", "--session=u"], ["--session=u1"]),
        (["run", "--run-id", "bo"], ["both"]),
        (["run", "--run-id", "run"], ["run:odd"]),
        (["run", "--store", "nowhere", "--run-id", ""], []),
    ],
)
def test_what_is_proposed(store: Lovia, words: list[str], expected: list[str] | str) -> None:
    found = proposed(store, *words)
    assert found == expected if isinstance(expected, str) else sorted(found) == sorted(expected)


def test_every_id_is_proposed_and_one_that_is_both_with_its_prefix(store: Lovia) -> None:
    ids = [one for one in ODD if one not in ("-dash", "run:odd")]
    expected = [*ids, "in-u1", "u1", "run:both", "session:both", "run:run:odd"]
    assert sorted(proposed(store, "resume", "")) == sorted(expected)


def test_reading_changes_nothing_and_damage_is_left_out(lovia: Lovia) -> None:
    assert proposed(lovia, "show", "") == []
    assert not (lovia.folder / ".lovia").exists()
    lovia.agent([{"text": "hi"}])
    for run_id in ("good", "bad"):
        lovia("run", "agent.yaml", "go", "--run-id", run_id)
    (bad,) = (lovia.folder / ".lovia" / "runs").glob("bad.*.json")
    bad.write_bytes(bad.read_bytes()[:40])
    before = lovia.store_bytes()
    assert proposed(lovia, "show", "") == ["good"]
    assert lovia.store_bytes() == before


def test_x3_an_id_that_would_turn_a_terminal_is_not_proposed(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "a\u202etxt.exe")
    assert proposed(lovia, "show", "") == []


def test_the_store_of_the_line_and_of_the_environment(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "there", "--store", "my store")
    assert proposed(lovia, "--store", "my store", "show", "") == ["there"]
    assert proposed(lovia, "--store=my store", "show", "") == ["there"]
    assert proposed(lovia, "show", "--store", "my store", "") == ["there"]
    assert lovia("__complete", "zsh", "show", "", env={"LOVIA_STORE": "my store"}).out == "words\nthere\n"


def test_what_makes_no_sense_is_silent(lovia: Lovia) -> None:
    for argv in ([], ["bash"], ["bash", "lovia show 'x"], ["zsh"]):
        ran = lovia("__complete", *argv)
        assert (ran.code, ran.out, ran.err) == (1, "", "")
    assert lovia("__complete", "zsh", "--store", "ftp:x", "show", "").out == ""


def test_an_unknown_shell_is_a_usage_error(lovia: Lovia) -> None:
    ran = lovia("completion", "tcsh")
    assert (ran.code, ran.out) == (2, "")
    assert "hint: use one of: bash, zsh, fish" in ran.err


# --- bash, with a terminal --------------------------------------------------------------------------------------------

SHOWN = '{ if [[ $1 == __complete ]]; then command lovia "$@"; else printf "<%s>" "$@"; printf "\\nDO%s\\n" NE; fi; }'
"""A function in lovia's place: it shows the words that it gets."""


class Terminal:
    """An interactive bash that has sourced the script."""

    def __init__(self, lovia: Lovia) -> None:
        env = {**lovia.env, "PATH": f"{SCRIPT.parent}:{lovia.env['PATH']}", "TERM": "dumb"}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(lovia.folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)
        self.type("bind 'set bell-style none' 'set enable-bracketed-paste off'; PS1='$ '; set +o history; stty -echo\n")
        self.type(f'eval "$(lovia completion bash)"; lovia() {SHOWN}; printf "DO%s\\n" NE\n')
        self.until("DONE")

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def until(self, mark: str) -> str:
        seen = b""
        while mark.encode() not in seen:
            assert select.select([self.fd], [], [], 30)[0], seen
            seen += os.read(self.fd, 65536)
        return seen.decode()

    def completed(self, typed: str) -> str:
        """The words of a line, after a TAB at its end."""
        self.type(f"{typed}\t\n")
        lines = self.until("DONE").replace("\r", "").split("\n")
        (words,) = [line[line.index("<") :] for line in lines if "<" in line]
        return words

    def close(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module")
def bash(store: Lovia) -> Iterator[Terminal]:
    terminal = Terminal(store)
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("lovia hist", "<history>"),
        ("lovia resume --inp", "<resume><--input>"),
        ("lovia runs fin", "<runs><finalize>"),
        ("lovia run --if-run-exists=resume-", "<run><--if-run-exists=resume-only>"),
        ("lovia run agent.ya", "<run><agent.yaml>"),
        ("lovia show us", "<show><user:42>"),
        ("lovia show user:4", "<show><user:42>"),
        ("lovia show run:user:4", "<show><run:user:42>"),
        ("lovia show run:run", "<show><run:run:odd>"),
        ("lovia show a", "<show><a b>"),
        ("lovia show a\\ ", "<show><a b>"),
        ("lovia show 'a", "<show><a b>"),
        ('lovia show "a ', "<show><a b>"),
        ("lovia show it", "<show><it's>"),
        ('lovia show "it', "<show><it's>"),
        ("lovia show q", '<show><q"uote>'),
        ("lovia show dol", "<show><dol$lar>"),
        ("lovia show me@h", "<show><me@home>"),
        ("lovia show é", "<show><éclair 世界>"),
        ("lovia show -- -d", "<show><--><-dash>"),
        ("lovia show x=", "<show><x=y>"),
        ("lovia show tick", "<show><tick`>"),
        ("lovia show back", "<show><back\\slash>"),
        ("lovia show wow", "<show><wow!>"),
        ("lovia show \\{", "<show><{b,c}>"),
        ("lovia show \\~", "<show><~tilde>"),
        ("lovia show \\*", "<show><*glob?>"),
        ("lovia show semi", "<show><semi;&|>"),
        ("lovia show \\#", "<show><#hash>"),
        ("lovia run --run-id us", "<run><--run-id><user:42>"),
        ("lovia run --run-id=user:", "<run><--run-id=user:42>"),
        ("lovia --store .lovia run -s u", "<--store><.lovia><run><-s><u1>"),
        ("X=1 lovia show us", "<show><user:42>"),
        ("true; lovia show us", "<show><user:42>"),
    ],
)
def test_bash_completes_the_line(bash: Terminal, typed: str, words: str) -> None:
    assert bash.completed(typed) == words


def test_bash_without_a_terminal(store: Lovia) -> None:
    """As other programs ask: the function, with COMP_LINE and COMP_POINT set."""
    ran = store.shell(
        'eval "$(lovia completion bash)"; COMP_LINE="lovia show us rest" COMP_POINT=13; _lovia lovia; '
        'printf "%s\\n" "${COMPREPLY[@]}"; complete -p lovia'
    )
    assert (ran.out, ran.err) == ("user:42\ncomplete -F _lovia lovia\n", "")


# --- zsh and fish -----------------------------------------------------------------------------------------------------

ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1="$ "; autoload -U compinit; compinit -u -D; eval "$(lovia completion zsh)"
  unsetopt zle_bracketed_paste; lovia() SHOWN; printf "DO%s\n" NE'
zpty -r shell seen '*DONE*'
for typed in "$@"; do
  zpty -w -n shell "$typed"$'\t\n'
  zpty -r shell seen '*DONE*'
  seen=${seen%%$'\r\n'DONE*}
  print -r -- "<${seen#*<}"
done
zpty -d shell
"""


def run_shell(lovia: Lovia, *argv: str) -> Ran:
    env = {**lovia.env, "PATH": f"{SCRIPT.parent}:{lovia.env['PATH']}"}
    done = subprocess.run(argv, cwd=lovia.folder, env=env, capture_output=True, timeout=60, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.services("shells")
def test_zsh_completes_the_line(store: Lovia) -> None:
    table = {
        "lovia hist": "<history>",
        "lovia resume --inp": "<resume><--input>",
        "lovia run agent.ya": "<run><agent.yaml>",
        "lovia run --run-id=us": "<run><--run-id=user:42>",
        "lovia show user:4": "<show><user:42>",
        "lovia show a": "<show><a b>",
        "lovia show it": "<show><it's>",
        "lovia show dol": "<show><dol$lar>",
        "lovia show run:run": "<show><run:run:odd>",
        "lovia show -- -d": "<show><--><-dash>",
    }
    ran = run_shell(store, "zsh", "-f", "-c", ZSH.replace("SHOWN", SHOWN), "zsh", *table)
    assert dict(zip(table, ran.out.splitlines(), strict=True)) == table, ran


@pytest.mark.services("shells")
def test_fish_proposes_the_words(store: Lovia) -> None:
    table = {
        "lovia hist": ["history"],
        "lovia run --run-id=us": ["--run-id=user:42"],
        "lovia show us": ["user:42"],
        "lovia show 'a": ["a b"],
        "lovia show a\\ ": ["a b"],
        'lovia show "it': ["it's"],
        "lovia show -- -d": ["-dash"],
        "lovia run ag": ["agent.yaml", "agent-script.yaml"],
        "lovia --store 'no such' show ": [],
    }
    script = "lovia completion fish | source; for line in $argv; complete -C $line; echo END; end"
    ran = run_shell(store, "fish", "--no-config", "-c", script, *table)
    found = [part.split("\n")[:-1] for part in ran.out.split("END\n")[:-1]]
    assert [sorted(one) for one in found] == [sorted(one) for one in table.values()], ran
