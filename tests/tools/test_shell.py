"""Shell tools: real commands (C25, C37, Z5)."""

import asyncio
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lovia_cli.errors import AgentFileError
from lovia_cli.tools import process
from lovia_cli.tools.base import Tool, ToolArgumentsError, ToolError
from lovia_cli.tools.shell import ShellTool
from tests.tools.kit import make_context, run_python

pytestmark = pytest.mark.anyio

CITY = {"city": {"type": "string"}}


def script(command: str, args: dict[str, Any] | None = None, **options: Any) -> ShellTool:
    return ShellTool("run", "Runs.", command, args, shell=True, **options)


async def output(tool: ShellTool, **arguments: Any) -> str:
    return await asyncio.wait_for(tool.call(arguments, make_context()), 60)


def real(path: Path) -> Path:
    return path.resolve()


def test_the_schema_is_of_the_declared_arguments() -> None:
    args = {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}}
    tool = ShellTool("trip", "Plans.", ["plan", "${args.city}", "${args.days}"], args, timeout=5, on_resume="fail")
    assert isinstance(tool, Tool)
    assert (tool.spec.name, tool.spec.description, tool.timeout, tool.on_resume) == ("trip", "Plans.", 5, "fail")
    assert tool.spec.parameters == {
        "type": "object",
        "properties": args,
        "required": ["city"],
        "additionalProperties": False,
    }


async def test_arguments_and_defaults_reach_the_command_as_they_are() -> None:
    args = {
        "text": {"type": "string"},
        "days": {"type": "integer", "default": 3},
        "extra": {"type": "string", "default": None},
    }
    tool = ShellTool("echo", "", ["printf", "[%s]", "${args.text}", "${args.days}", "${args.extra}"], args)
    assert await output(tool, text="a b; $(c) 'd'") == "[a b; $(c) 'd'][3]"
    assert await output(tool, text="", days=4, extra="x") == "[][4][x]"


async def test_the_output_is_stdout_and_stderr_in_order() -> None:
    assert await output(script("echo one; echo two >&2; echo three")) == "one\ntwo\nthree\n"
    assert await output(script("true")) == ""
    assert await output(script("printf 'caf\\351'")) == "caf\ufffd"


async def test_z5_the_command_knows_its_call() -> None:
    tool = script("echo $LOVIA_RUN_ID $LOVIA_CALL_ID $LOVIA_STEP $LOVIA_IDEMPOTENCY_KEY $MINE", env={"MINE": "m"})
    assert await output(tool) == "run-1 call_a 2 run-1/2.3 m\n"


READS_STDIN = """
import asyncio, sys
from lovia_cli.tools.shell import ShellTool
from tests.tools.kit import make_context

print([asyncio.run(ShellTool("cat", "", ["cat"]).call({}, make_context())), sys.stdin.read()])
"""


async def test_the_command_does_not_read_our_stdin() -> None:
    assert await run_python(READS_STDIN, stdin="the user's") == (0, "['', \"the user's\"]\n", "")


async def test_where_it_runs(tmp_path: Path) -> None:
    tmp_path = real(tmp_path)
    (tmp_path / "scripts").mkdir()
    program = tmp_path / "scripts" / "where.sh"
    program.write_text("#!/bin/sh\npwd -P\n")
    program.chmod(0o755)
    command = ["./scripts/where.sh"]
    assert await output(ShellTool("w", "", command, base_dir=tmp_path)) == f"{real(Path())}\n"
    assert await output(ShellTool("w", "", command, base_dir=tmp_path, cwd="scripts")) == f"{program.parent}\n"
    assert await output(ShellTool("w", "", ["pwd", "-P"], base_dir=tmp_path, cwd=".")) == f"{tmp_path}\n"


async def test_a_command_that_fails_is_an_error_with_its_output(tmp_path: Path) -> None:
    plain_file = tmp_path / "data.txt"
    plain_file.write_text("x")
    no_interpreter = tmp_path / "tool"
    no_interpreter.write_text("echo x\n")
    no_interpreter.chmod(0o755)
    cases = [
        (script("echo some; exit 3"), "exit code 3\nsome"),
        (script("exit 4"), "exit code 4"),
        (script("echo some; kill -9 $$"), "killed by SIGKILL\nsome"),
        (ShellTool("x", "", ["no-such-command-here"]), "command not found: no-such-command-here"),
        (ShellTool("x", "", ["./data.txt"], base_dir=tmp_path), f"not executable: {plain_file}"),
        (ShellTool("x", "", [str(no_interpreter)]), f"not a program: {no_interpreter} (does it lack a #! line?)"),
        (ShellTool("x", "", ["true"], cwd=tmp_path / "gone"), f"the directory {tmp_path / 'gone'} is not there"),
        (script("true # " + "x" * 3_000_000), "/bin/sh could not be started: Argument list too long"),
    ]
    before = _open_files()
    for tool, message in cases:
        with pytest.raises(ToolError) as caught:
            await output(tool)
        assert caught.value.message == message
    assert _open_files() == before


def test_bad_arguments_are_listed_one_line_each() -> None:
    args = {
        "env": {"type": "string", "enum": ["staging", "production"]},
        "n": {"type": "integer", "default": 1},
        "text": {"type": "string"},
        "where": {"type": "object", "required": ["city"], "default": {"city": "Rome"}},
    }
    tool = ShellTool("deploy", "", ["deploy"], args)
    tool.check({"env": "staging", "text": ""})
    with pytest.raises(ToolArgumentsError) as caught:
        tool.check({"env": "prod", "n": "many", "colour": 1, "where": {}})
    assert caught.value.message.splitlines() == [
        "the arguments of deploy do not fit:",
        "- text: is required",
        "- colour: unknown argument; the tool takes env, n, text, where",
        "- env: 'prod' is not one of ['staging', 'production']",
        "- n: 'many' is not of type 'integer'",
        "- where: 'city' is a required property",
    ]
    with pytest.raises(ToolArgumentsError, match="text: holds a NUL character"):
        tool.check({"env": "staging", "text": "a\0b"})


def test_a_reference_is_not_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        host, port = server.getsockname()
        tool = ShellTool("x", "", ["x"], {"a": {"$ref": f"http://{host}:{port}/schema.json"}})
        with pytest.raises(ToolArgumentsError, match="the arguments of x cannot be checked"):
            tool.check({"a": 1})
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    ("command", "args", "options", "words"),
    [
        (["echo", "${args.town}"], CITY, {}, "${args.town} is not declared"),
        ("echo ${args.town}", CITY, {"shell": True}, "${args.town} is not declared"),
        ("echo '${args.city}'", CITY, {"shell": True}, "'${args.city}' has an argument within single quotes"),
        ("echo", {}, {}, "the command of x is no list of strings"),
        (["echo"], {}, {"shell": True}, "the command of x is no string"),
        ([], {}, {}, "the command of x is no list of strings"),
        (["head", 3], {}, {}, "3 in the command of x cannot be an argument"),
        (["echo"], {"a-b": {}}, {}, "'a-b' cannot be an argument of x"),
        (["echo"], {"a": "string"}, {}, "argument a of x is no JSON Schema"),
        (["echo"], {"a": {"type": "text"}}, {}, "args.a.type of x is no JSON Schema: 'text' is not valid"),
        (["echo"], {"a": {"type": "integer", "default": "x"}}, {}, "the default of argument a of x does not fit it"),
        (["echo"], {}, {"env": {"A=B": "x"}}, "'A=B' cannot be a variable in the environment of x"),
        (["echo"], {}, {"output_limit": -1}, "the output limit of x is -1"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(command: Any, args: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(AgentFileError) as caught:
        ShellTool("x", "", command, args, **options)
    assert words in caught.value.message


async def test_c25_a_hundred_megabytes_are_drained_and_capped() -> None:
    text = await output(script("yes 0123456789 | head -c 100000000; echo; echo the end"))
    assert text.startswith("0123456789\n0123456789\n")
    assert text.endswith("\nthe end\n")
    cut = re.search(r"\n\[\.\.\. (\d+) bytes of output were cut here \.\.\.\]\n", text)
    assert cut is not None
    assert len(text) - len(cut[0]) + int(cut[1]) == 100_000_009
    assert len(text) - len(cut[0]) == 64 * 1024


def _open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


class Witness:
    """A pipe that every process of a command holds open: its end tells that none is left."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "witness"
        os.mkfifo(self.path)
        self.reader = asyncio.StreamReader()
        self._file = os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK), "rb")

    async def open(self) -> None:
        # Our own writing end keeps the pipe from ending before the command has opened it.
        self._own = os.open(self.path, os.O_WRONLY)
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self.reader), self._file)

    async def line(self) -> str:
        text = (await asyncio.wait_for(self.reader.readline(), 30)).decode().strip()
        if self._own >= 0:
            os.close(self._own)
            self._own = -1
        return text

    async def nobody_is_left(self) -> None:
        await asyncio.wait_for(self.reader.read(), 10)

    def close(self) -> None:
        self._transport.close()


@pytest.fixture
async def witness(tmp_path: Path) -> AsyncIterator[Witness]:
    pipe = Witness(tmp_path)
    await pipe.open()
    yield pipe
    pipe.close()


BACKGROUND = 'exec 9>"$W"; sleep 301 & sleep 302 & echo ready >&9; wait'
STUBBORN = (
    "exec 9>\"$W\"; trap '' TERM INT; (trap '' TERM; sleep 303; sleep 304) & echo ready >&9; sleep 305; sleep 306"
)


@pytest.mark.parametrize("command", [BACKGROUND, STUBBORN])
async def test_c37_a_cancelled_command_leaves_no_process(witness: Witness, command: str) -> None:
    task = asyncio.ensure_future(output(script(command, env={"W": str(witness.path)})))
    assert await witness.line() == "ready"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await witness.nobody_is_left()
    assert process._groups == set()


async def test_c37_sigterm_comes_first_so_that_a_command_can_clean_up(witness: Witness, tmp_path: Path) -> None:
    mark = tmp_path / "cleaned"
    command = 'exec 9>"$W"; trap \'echo yes >"$M"; exit 0\' TERM; echo ready >&9; while :; do sleep 0.05; done'
    task = asyncio.ensure_future(output(script(command, env={"W": str(witness.path), "M": str(mark)})))
    assert await witness.line() == "ready"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await witness.nobody_is_left()
    assert mark.read_text() == "yes\n"


async def test_c37_a_second_cancellation_kills_at_once(witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOP_GRACE", 3600.0)
    task = asyncio.ensure_future(
        ShellTool("run", "", STUBBORN, shell=True, env={"W": str(witness.path)}).call({}, make_context())
    )
    assert await witness.line() == "ready"
    task.cancel()
    await asyncio.wait({task}, timeout=0.1)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 30)
    await witness.nobody_is_left()


async def test_c37_a_process_that_leaves_at_once_can_kill_what_runs(witness: Witness) -> None:
    task = asyncio.ensure_future(output(script(STUBBORN, env={"W": str(witness.path)})))
    assert await witness.line() == "ready"
    process.kill_groups()
    with pytest.raises(ToolError, match="killed by SIGKILL"):
        await task
    await witness.nobody_is_left()


async def test_c37_a_timeout_kills_the_group(witness: Witness) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await script(BACKGROUND, env={"W": str(witness.path)}).call({}, make_context())
    assert await witness.line() == "ready"
    await witness.nobody_is_left()


def test_c37_zombies_that_nobody_collects_are_not_waited_for() -> None:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
    assert process._lives(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process._lives(child.pid) is not Path("/proc").is_dir()
    child.communicate()
    assert not process._lives(child.pid)


async def test_a_background_child_neither_hangs_the_call_nor_dies_with_it(witness: Witness) -> None:
    command = 'echo before; (exec 9>"$W"; echo ready >&9; read line <"$G"; echo lives >&9) & echo after'
    gate = witness.path.with_name("gate")
    os.mkfifo(gate)
    text = await output(script(command, env={"W": str(witness.path), "G": str(gate)}))
    assert text == "before\nafter\n"
    assert await witness.line() == "ready"
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await witness.line() == "lives"
    await witness.nobody_is_left()


async def test_what_was_written_before_the_end_is_read_though_a_child_holds_the_pipe() -> None:
    text = await output(script("yes x | head -c 60000; sleep 0.5 & exit 0"))
    assert text == "x\n" * 30000
