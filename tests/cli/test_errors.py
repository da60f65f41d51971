"""Every error there is: what happened, where, and what to do, in text and in JSON; no traceback, and no secret."""

import fcntl
import http.server
import importlib
import json
import os
import pkgutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lovia_cli
import stores
from lovia_cli.cli.answers import RunAnswer
from lovia_cli.errors import ProviderError
from stores.errors import LoviaError
from tests.cli.lovia import Lovia, Ran, call, end, shell_tool, wait_for_file
from tests.store_file.kit import read, rewrite

RUN = ["run", "agent.yaml", "go"]
TOOL = "tools:\n" + shell_tool("look", "echo seen")

Scenario = Callable[[Lovia, list[str]], Ran]
"""Brings the error about; the list has the options that say how to print."""


def after(prepare: Callable[[Lovia], object], *argv: str) -> Scenario:
    def scenario(lovia: Lovia, options: list[str]) -> Ran:
        prepare(lovia)
        return lovia(*argv, *options)

    return scenario


def plain(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])


def finished(lovia: Lovia) -> None:
    plain(lovia)
    lovia(*RUN, "--run-id", "r1", "-s", "u1")


def failing(**fail: Any) -> Callable[[Lovia], None]:
    return lambda lovia: lovia.agent([{"fail": fail}])


def looking(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "ok"}], tools=TOOL)


def stopped(lovia: Lovia) -> None:
    """A run with a call that is pending."""
    both = {"tool_calls": 2 * call("look")["tool_calls"]}
    lovia.agent([both, {"text": "ok"}], tools=TOOL, more="limits: {max_tool_calls: 1}\ntool_concurrency: 1")
    lovia(*RUN, "--run-id", "r1", "--max-steps", "9")


def without_its_tool(lovia: Lovia) -> None:
    stopped(lovia)
    lovia.agent([{"text": "ok"}])


def changed(lovia: Lovia) -> None:
    looking(lovia)
    lovia(*RUN, "--run-id", "r1", "--max-steps", "1")
    lovia.agent([call("look"), {"text": "ok"}], tools=TOOL, more="instructions: Others.")


def no_key(lovia: Lovia) -> None:
    lovia.write("agent.yaml", "version: 1\nname: x\nmodel: openai:gpt-5\n")


def damaged(lovia: Lovia) -> None:
    finished(lovia)
    (ref,) = (lovia.folder / ".lovia" / "runs").glob("*.json")
    ref.write_bytes(b"{")


def newer(lovia: Lovia) -> None:
    finished(lovia)
    rewrite(lovia.folder / ".lovia" / "store.json", v=999)


def not_writable(lovia: Lovia, options: list[str]) -> Ran:
    plain(lovia)
    words = " ".join(["lovia", *RUN, *options])
    return lovia.shell(
        f"ulimit -f 0; {words} 2>/dev/null | cat" if options else f"ulimit -f 0; {words} 2>&1 >&2 | cat >&2"
    )


def locked(lovia: Lovia, options: list[str]) -> Ran:
    lovia.agent([call("hang"), {"text": "ok"}], tools="tools:\n" + shell_tool("hang", "touch begun; sleep 60"))
    process = lovia.start(*RUN, "--run-id", "r1")
    wait_for_file(lovia.folder / "begun", process)
    ran = lovia("resume", "r1", *options)
    process.terminate()
    end(process)
    return ran


def told(verb: str) -> Scenario:
    """A run that is stopped from outside: by a signal, or by ``lovia cancel``."""

    def scenario(lovia: Lovia, options: list[str]) -> Ran:
        lovia.agent([call("hang"), {"text": "ok"}], tools="tools:\n" + shell_tool("hang", "touch begun; sleep 60"))
        process = lovia.start(*RUN, "--run-id", "r1", *options)
        wait_for_file(lovia.folder / "begun", process)
        if verb == "cancel":
            lovia("cancel", "r1")
        else:
            process.terminate()
        return end(process)

    return scenario


def busy(lovia: Lovia, options: list[str]) -> Ran:
    finished(lovia)
    (path,) = (lovia.folder / ".lovia" / "locks" / "sessions").glob("*.lock")
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return lovia("run", "agent.yaml", "more", "-s", "u1", *options)


def unknown_entry(lovia: Lovia, options: list[str]) -> Ran:
    finished(lovia)
    (chunk,) = (lovia.folder / ".lovia" / "data").rglob("000001.json")
    records = read(chunk)["records"]
    records[0]["entries"].append({"type": "hologram"})
    rewrite(chunk, records=records)
    return lovia("show", "run:r1", *options)


INVALID_OUTPUT = "output_schema: {type: object, properties: {n: {type: integer}}, required: [n]}"

SCENARIOS: dict[str, tuple[int, Scenario]] = {
    "UserError": (2, after(plain, "run", "agent.yaml", "go", "--max-steps", "x")),
    "RunExistsError": (6, after(finished, *RUN, "--run-id", "r1", "--if-run-exists", "fail")),
    "RunNotFoundError": (5, after(finished, "resume", "nosuch")),
    "PartNotFoundError": (5, after(finished, "show", "r1", "--step", "9")),
    "CheckpointNotFoundError": (5, after(finished, "fork", "r1", "--from-step", "9")),
    "CallNotFoundError": (5, after(finished, "fork", "r1", "--from-step", "0", "--tool-result", "x=1")),
    "SessionNotFoundError": (5, after(finished, "trim", "nosuch")),
    "StoreNotFoundError": (5, after(plain, "doctor", "--store", "nosuch")),
    "ConflictError": (6, after(finished, "resume", "r1", "-i", "more")),
    "RunLockedError": (6, locked),
    "ResumeToolMissingError": (6, after(without_its_tool, "resume", "r1")),
    "StoreError": (10, after(plain, *RUN, "--store", "agent.yaml/x")),
    "StoreWriteError": (10, not_writable),
    "StoreDamagedError": (10, after(damaged, "resume", "r1")),
    "StoreVersionError": (10, after(newer, "resume", "r1")),
    "StoreBusyError": (10, busy),
    "UnknownEntryError": (10, unknown_entry),
    "AgentFileError": (3, after(plain, "run", "nowhere.yaml", "go")),
    "AgentDriftError": (9, after(changed, "resume", "r1", "--on-drift", "error")),
    "InvalidOutputError": (1, after(lambda lovia: lovia.agent([{"text": "no"}] * 2, more=INVALID_OUTPUT), *RUN)),
    "ProviderError": (1, after(failing(status=400, message="bad"), *RUN)),
    "CredentialsError": (4, after(no_key, *RUN)),
    "ScriptError": (1, after(lambda lovia: lovia.agent([call("look")], tools=TOOL), *RUN)),
    "LimitReached": (7, after(looking, *RUN, "--run-id", "r1", "--max-steps", "1")),
    "TimedOut": (7, after(lambda lovia: lovia.agent([{"text": "x", "delay": 60}]), *RUN, "--timeout", "0.2")),
    "SignalReceived": (143, told("signal")),
    "CancelRequested": (143, told("cancel")),
}  # fmt: skip
"""How each error comes about at the command line, and what it exits with."""

NOT_AT_THE_COMMAND_LINE = {
    "LoviaError": "the root",
    "Stopped": "the root of what stops a run",
    "InternalError": "a mistake of ours; see below",
    "BadAnswer": "becomes a ProviderError",
    "StoreUnreadableError": "root may read everything, and tests may be root: see tests/store_file/test_unreadable.py",
    "ToolError": "becomes a result that the model reads",
    "ToolArgumentsError": "becomes a result that the model reads",
    "ValueNotStorable": "becomes a result that the model reads; a caller in Python is refused",
    "SegmentDiffersError": "is said as a warning: the session keeps what it has",
    "OutputNotStoredError": "what a file's agent answers is JSON; only Python has other values",
    "GuardrailTripped": "only an agent of the Python API has guardrails",
    "HookError": "only an agent of the Python API has hooks",
}


def every_error() -> dict[str, type[LoviaError]]:
    """All classes of errors but the private ones, whichever module has them."""
    for package in (lovia_cli, stores):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and ".templates" not in module.name:
                importlib.import_module(module.name)
    found: dict[str, type[LoviaError]] = {}
    waiting: list[type[LoviaError]] = [LoviaError]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if not kind.__name__.startswith("_") and kind.__module__.split(".")[0] in ("lovia_cli", "stores"):
            found[kind.__name__] = kind
    return found


def test_every_error_has_a_row() -> None:
    assert set(every_error()) == set(SCENARIOS) | set(NOT_AT_THE_COMMAND_LINE)


def test_no_two_errors_share_a_code() -> None:
    kinds = [kind for name, kind in every_error().items() if name not in ("BadAnswer", "LoviaError")]
    assert len({kind.code for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_error_is_what_where_and_what_to_do(lovia: Lovia, name: str) -> None:
    code, scenario = SCENARIOS[name]
    ran = scenario(lovia, [])
    assert (ran.out, "Traceback" in ran.err) == ("", False), ran
    assert name == "StoreWriteError" or ran.code == code, ran
    lines = ran.err.splitlines()
    (start,) = [index for index, line in enumerate(lines) if line.startswith(("error: ", "interrupted: "))]
    assert lines[start + 1].startswith("  where: "), ran.err
    if lines[-1].startswith("lovia resume "):
        assert lines[start + 2].startswith("  ")
        assert len(lines) == start + 4
    else:
        assert lines[start + 2].startswith("  hint: "), ran.err
        assert len(lines) == start + 3


def test_an_answer_that_was_refused_needs_new_input(lovia: Lovia) -> None:
    _, scenario = SCENARIOS["InvalidOutputError"]
    assert scenario(lovia, ["--run-id", "r1"]).err.splitlines()[-1] == "lovia resume r1 --input TEXT"


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "StoreBusyError"])  # which waits for 30 s
def test_an_error_has_its_code_in_the_json(lovia: Lovia, name: str) -> None:
    code, scenario = SCENARIOS[name]
    data = scenario(lovia, ["--json"]).json
    error = data["error"]
    assert (data["exit_code"], error["code"]) == (code, every_error()[name].code)
    assert sorted(error) == ["code", "hint", "message", "retryable"]
    assert error["message"]
    assert error["hint"]
    assert isinstance(error["retryable"], bool)


def test_too_little_memory_is_no_mistake_of_ours(lovia: Lovia) -> None:
    broken = (
        "import json\n\n\ndef dumps(*_: object, **__: object) -> str:\n    raise MemoryError\n\n\njson.dumps = dumps\n"
    )
    lovia.write("tools.py", broken + '\n\ndef look() -> str:\n    "x"\n    return ""\n')
    lovia.agent([{"text": "hi"}], tools="tools: [./tools.py:look]")
    ran = lovia(*RUN)
    hint = "  hint: give the process more (ulimit -v), then run the same command again"
    assert (ran.code, "error: out of memory\n" in ran.err, ran.err.splitlines()[-1]) == (1, True, hint)


def test_d3_a_store_that_vanishes_under_a_run_is_not_said_to_be_safe(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "hi"}], tools="tools:\n" + shell_tool("look", "rm -r .lovia/data/*"))
    ran = lovia(*RUN)
    hint = "  it was removed or moved meanwhile: put it back before you go on, or what was in it is lost"
    assert (ran.code, hint in ran.err.splitlines(), "safe" in ran.err) == (10, True, False), ran.err


@pytest.mark.parametrize("options", [[], ["--debug"]])
def test_a_mistake_of_ours_is_no_traceback_without_debug(lovia: Lovia, options: list[str]) -> None:
    """Brought about by an agent's own code, which breaks what lovia relies on."""
    lovia.write("tools.py", 'import json\n\njson.dumps = None\n\n\ndef look() -> str:\n    "x"\n    return ""\n')
    lovia.agent([{"text": "hi"}], tools="tools: [./tools.py:look]")
    ran = lovia(*RUN, *options)
    assert (ran.code, ran.out) == (1, "")
    assert "error: internal error: TypeError: 'NoneType' object is not callable" in ran.err
    assert "  hint: run it again with --debug, and report what it prints" in ran.err
    assert ("Traceback" in ran.err) == bool(options)


# --- secrets ----------------------------------------------------------------------------------------------------------

SECRET = "sk-live-0123456789abcdef"


@contextmanager
def parrot(status: int) -> Iterator[str]:
    """A server that says in its error what it was sent, headers too."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            said = json.dumps({"error": {"message": f"{self.headers}{body}", "type": str(self.headers)}}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("kind", ["", "sqlite:"])
def test_the_commands_that_an_error_advises_look_in_the_store_that_was_named(lovia: Lovia, kind: str) -> None:
    store = f"{kind}my store"
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "--store", store)
    given = f"--store '{store}'"
    assert lovia("show", "nope", "--store", store).err.endswith(f"  hint: list them with: lovia history {given}\n")
    ran = lovia("fork", "r1", "--store", store, "--json")
    assert ran.json["error"]["hint"] == f"name one: --from-step N; see: lovia history {given} RUN"
    assert lovia("show", "nope", "--store", store, "-o", "ndjson").lines[-1]["error"]["hint"].endswith(given)
    assert lovia("init", ".", "--store", store).err.endswith("  hint: choose an empty folder: lovia init DIR\n")


def test_a_store_that_the_same_shell_finds_by_itself_is_not_in_an_errors_advice(lovia: Lovia) -> None:
    ran = lovia("show", "nope", env={"LOVIA_STORE": "mine"})
    assert ran.err.endswith("  hint: list them with: lovia history\n")


@pytest.mark.parametrize("status", [200, 400, 401])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_x11_no_secret_is_in_anything_printed_or_stored(lovia: Lovia, provider: str, status: int) -> None:
    variable = f"{provider.upper()}_API_KEY"
    with parrot(status) as url:
        model = f"model: {{provider: {provider}, name: m, base_url: '{url}', api_key_env: {variable}}}"
        lovia.write("agent.yaml", f"version: 1\nname: x\n{model}\n")
        for options in (["-vv", "--debug"], ["--json", "--debug"], ["-o", "ndjson"]):
            ran = lovia(*RUN, *options, env={variable: SECRET})
            assert ran.code in (1, 4), ran
            assert SECRET not in ran.out + ran.err
    for argv in (["history", "--json"], ["show", "--last", "--json"], ["history", "--last"]):
        assert SECRET not in lovia(*argv, env={variable: SECRET}).out
    assert not [name for name, data in lovia.store_bytes().items() if SECRET.encode() in data]


def test_x11_no_secret_of_the_environment_is_in_an_error_that_quotes_it(lovia: Lovia) -> None:
    lovia.write("tools.py", f'raise ValueError("cannot log in with {SECRET}")\n')
    lovia.agent([{"text": "hi"}], tools="tools: [./tools.py:look]")
    env = {"SHOP_TOKEN": SECRET}
    for options in (["--debug"], ["--json"], ["-o", "ndjson"]):
        ran = lovia(*RUN, *options, env=env)
        assert ran.code == 3
        assert SECRET not in ran.out + ran.err
        assert "cannot log in with [SHOP_TOKEN]" in ran.out + ran.err
    assert os.fspath(Path(lovia.folder)) in lovia(*RUN).err


def test_a_hint_is_one_that_the_command_can_follow(lovia: Lovia) -> None:
    lovia.write("f", "")
    told = lovia("init", "f").err
    assert told == "error: f exists and is no folder\n  where: f\n  hint: choose another: lovia init DIR\n"
    lovia.agent([{"fail": {"status": 400, "message": "no"}}, {"text": "hi"}])
    told = lovia(*RUN, "--run-id", "r1").err
    assert told.endswith("\n  mend what was refused, and resume the run\nlovia resume r1\n")
    refused = lovia("resume", "r1", "--delete-on-success", "--json")
    said = "--delete-on-success needs a session, and run 'r1' belongs to none"
    assert (refused.code, refused.json["error"]["message"].partition(" (")[0]) == (2, said)
    assert "--session" not in refused.json["error"]["hint"]


def test_a_lasting_refusal_without_a_hint_is_to_be_mended_first() -> None:
    def hint(retryable: bool) -> str | None:
        problem = RunAnswer(store=None, error=ProviderError("no", retryable=retryable), go_on="lovia resume r1").problem
        return problem.hint if problem else ""

    assert hint(False) == "mend what was refused first: the same request would be refused again"
    assert hint(True) is None
