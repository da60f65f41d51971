"""A stopped run's last line is the command that resumes it, and that command does so."""

import os
import select
import signal

from tests.cli.lovia import Lovia, call, end, shell_tool, wait_for_file

LOOK = "tools:\n" + shell_tool("look", "echo x >> n.txt; echo seen")


def looking(lovia: Lovia, more: str = "") -> None:
    """An agent that looks three times before it answers."""
    lovia.agent([call("look"), call("look"), call("look"), {"text": "found"}], tools=LOOK, more=more)


def counted(lovia: Lovia) -> int:
    return (lovia.folder / "n.txt").read_text().count("x")


def test_a_limit_prints_the_command_with_a_higher_one(lovia: Lovia) -> None:
    looking(lovia)
    ran = lovia("run", "agent.yaml", "go", "--run-id", "job-1", "--max-steps", "2")
    assert (ran.code, ran.out) == (7, "")
    assert ran.err.splitlines()[-1] == "lovia resume --max-steps 4 job-1"
    assert lovia.shell(ran.err.splitlines()[-1]).out == "found\n"
    assert counted(lovia) == 3


def test_a_limit_without_an_option_of_its_own_can_be_raised_too(lovia: Lovia) -> None:
    looking(lovia, "limits: {max_tool_calls: 2}")
    ran = lovia("run", "agent.yaml", "go", "--run-id", "job-1")
    assert ran.err.splitlines()[-1] == "lovia resume --limit max_tool_calls=4 job-1"
    assert lovia.shell(ran.err.splitlines()[-1]).out == "found\n"
    assert counted(lovia) == 3


def test_z8_a_limit_raised_once_holds(lovia: Lovia) -> None:
    looking(lovia)
    lovia("run", "agent.yaml", "go", "--run-id", "job-1", "--max-steps", "1")
    assert lovia("resume", "job-1").err.splitlines()[-1] == "lovia resume --max-steps 2 job-1"
    assert lovia("resume", "--max-steps", "2", "job-1").code == 7
    assert lovia("resume", "job-1").err.splitlines()[-1] == "lovia resume --max-steps 4 job-1"


def test_the_command_names_a_store_that_is_not_found_by_itself(lovia: Lovia) -> None:
    looking(lovia)
    ran = lovia("run", "agent.yaml", "go", "--run-id", "job-1", "--max-steps", "1", "--store", "my store")
    command = ran.err.splitlines()[-1]
    assert command == "lovia resume --store 'my store' --max-steps 2 job-1"
    assert lovia.shell(command).code == 7


def test_json_has_the_command_as_its_hint(lovia: Lovia) -> None:
    looking(lovia)
    data = lovia("run", "agent.yaml", "go", "--run-id", "job-1", "--max-steps", "1", "--json").json
    assert (data["status"], data["steps"], data["error"]["code"]) == ("interrupted", 1, "limit")
    assert data["error"]["hint"] == "go on with: lovia resume --max-steps 2 job-1"


def test_an_error_is_what_where_and_what_to_do(lovia: Lovia) -> None:
    lovia.agent([{"fail": {"status": 400, "message": "bad"}}])
    lines = lovia("run", "agent.yaml", "go", "--run-id", "job-1", "-s", "u1").err.splitlines()
    assert lines[0] == "run job-1 (session u1)"
    assert lines[1].startswith("error: ")
    assert lines[2] == f"  where: run job-1 in {lovia.folder / '.lovia'}"
    assert lines[-1] == "lovia resume job-1"


def test_z2_steering_replaces_the_call_that_was_stopped(lovia: Lovia) -> None:
    script = "echo start >> n.txt; [ -e again ] || { touch again; sleep 60; }"
    lovia.agent([call("hang"), {"text": "ok"}], tools="tools:\n" + shell_tool("hang", script))
    process = lovia.start("run", "agent.yaml", "go", "--run-id", "r1")
    wait_for_file(lovia.folder / "again", process)
    process.send_signal(signal.SIGINT)
    assert end(process).code == 130
    assert lovia("resume", "r1", "-i", "leave it").out == "ok\n"
    assert (lovia.folder / "n.txt").read_text() == "start\n"
    results = [entry for entry in lovia("show", "r1", "--json").json["entries"] if entry["type"] == "tool_result"]
    assert [entry["kind"] for entry in results] == ["cancelled"]


def test_c37_a_second_interrupt_leaves_at_once_and_leaves_nothing_behind(lovia: Lovia) -> None:
    """The pipe ends when the last process that has it open is gone."""
    script = "exec 3> fifo; trap '' INT; trap 'echo told >&3' TERM; echo begun >&3; while :; do sleep 0.1; done"
    lovia.agent([call("hang"), {"text": "ok"}], tools="tools:\n" + shell_tool("hang", script))
    os.mkfifo(lovia.folder / "fifo")
    process = lovia.start("run", "agent.yaml", "go", "--run-id", "r1")
    with (lovia.folder / "fifo").open() as pipe:
        assert pipe.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert pipe.readline() == "told\n"
        process.send_signal(signal.SIGINT)
        assert end(process).code == 130
        assert select.select([pipe], [], [], 20)[0]
        assert pipe.read() == ""
    assert lovia("history", "r1", "--json").json["status"] == "interrupted"


def test_c37_a_hangup_that_was_ignored_stays_ignored(lovia: Lovia) -> None:
    lovia.agent([call("hang"), {"text": "ok"}], tools="tools:\n" + shell_tool("hang", "touch begun; read x < fifo"))
    os.mkfifo(lovia.folder / "fifo")
    process = lovia.start("run", "agent.yaml", "go", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_file(lovia.folder / "begun", process)
    process.send_signal(signal.SIGHUP)
    (lovia.folder / "fifo").write_text("go\n")
    assert (end(process).code, process.returncode) == (0, 0)


def test_x13_a_thread_of_a_tool_that_hangs_keeps_nobody_waiting(lovia: Lovia) -> None:
    lovia.write(
        "tools.py",
        'import threading\n\n\ndef leave() -> str:\n    "Leave a thread."\n'
        "    threading.Thread(target=threading.Event().wait).start()\n    return 'left'\n",
    )
    lovia.agent([call("leave"), {"text": "ok"}], tools="tools: [./tools.py:leave]")
    assert lovia("run", "agent.yaml", "go").out == "ok\n"
