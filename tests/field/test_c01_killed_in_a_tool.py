"""C01, C03, C05: the process is killed while a tool runs; the run goes on, and the session stays usable."""

import os
import select
import signal

from tests.cli.lovia import Lovia
from tests.field.kit import (
    HANG_ONCE,
    asked,
    calls,
    kill,
    lines,
    make_agent,
    python,
    results,
    say,
    segments,
    shell,
    start,
)

APPEND = shell("append", "echo a >> a.txt")
KILLMID = shell(
    "killmid",
    'echo "start $LOVIA_CALL_ID $LOVIA_STEP after $(wc -l < calls.jsonl)" >> n.txt; '
    + HANG_ONCE
    + "; echo end >> n.txt",
)
RUN = ("run", "agent.yaml", "go", "--session", "u1", "--run-id", "job-1")

STRIKE = """
import os

def strike() -> None:
    guard = int(open(f"/proc/self/task/{os.getpid()}/children").read().split()[0])
    os.kill(guard, 9)
    os.waitid(os.P_PID, guard, os.WEXITED | os.WNOWAIT)
"""


def c01_agent(lovia: Lovia) -> None:
    turns = [calls(("c1", "append", {})), calls(("c2", "killmid", {})), say()]
    make_agent(lovia, turns, APPEND + KILLMID)


def test_c01_a_killed_call_runs_again_before_the_model_is_asked(lovia: Lovia) -> None:
    c01_agent(lovia)
    kill(lovia, *RUN)
    assert [run["status"] for run in lovia("history", "--json").json["runs"]] == ["interrupted"]
    assert lovia("history", "u1", "--json").json["segments"] == []

    assert lovia("resume", "job-1").out == "done\n"
    assert lines(lovia, "a.txt") == ["a"]
    assert lines(lovia, "n.txt") == ["start c2 2 after 2", "start c2 2 after 2", "end"]
    assert asked(lovia) == [("job-1", 1), ("job-1", 2), ("job-1", 3)]
    assert segments(lovia, "u1") == ["job-1"]


def test_c01_a_second_resume_replays_and_the_session_goes_on(lovia: Lovia) -> None:
    c01_agent(lovia)
    kill(lovia, *RUN)
    first = lovia("resume", "job-1", "--json").json
    before = lovia.store_bytes()
    again = lovia("resume", "job-1", "--json").json
    assert (again["output"], again["replayed"], again["usage"]) == (first["output"], True, first["usage"])
    assert lovia.store_bytes() == before
    assert len(asked(lovia)) == 3

    assert lovia("run", "agent.yaml", "next", "--session", "u1", "--run-id", "job-2").code == 0
    assert segments(lovia, "u1") == ["job-1", "job-2"]
    assert lines(lovia, "a.txt") == ["a", "a"]


def test_c01_a_command_does_not_outlive_its_run(lovia: Lovia) -> None:
    """Neither it nor what it started. It was under way when the result of the other call was saved."""
    os.mkfifo(lovia.folder / "held")
    held = os.open(lovia.folder / "held", os.O_RDONLY | os.O_NONBLOCK)
    wait = "until lovia history r1 --json | grep -q result; do :; done"
    hang = f"[ -e again ] || {{ exec 9> held; {wait}; sleep 600 & echo $$ > pid; touch again; exec sleep 601; }}"
    tools = shell("slow", hang) + shell("quick", "echo quick")
    make_agent(lovia, [calls(("one", "slow", {}), ("two", "quick", {})), say()], tools)
    process = start(lovia, "run", "agent.yaml", "go", "--run-id", "r1")
    process.kill()
    process.communicate()
    assert select.select([held], [], [], 30) == ([held], [], [])
    assert os.read(held, 1) == b""  # nobody holds the other end
    os.close(held)
    assert lovia("resume", "r1").out == "done\n"


def test_c01_nor_does_it_where_a_tool_has_left_a_child_behind(lovia: Lovia) -> None:
    """Which was forked, so it has a copy of all that was open then."""
    fork = "def leave() -> str:\n    pid = os.fork()\n    if not pid:\n        time.sleep(600)\n    return str(pid)\n"
    lovia.write("tools.py", f"import os\nimport time\n\n\n{fork}")
    os.mkfifo(lovia.folder / "held")
    held = os.open(lovia.folder / "held", os.O_RDONLY | os.O_NONBLOCK)
    tools = shell("quick", "echo quick") + python("leave") + shell("slow", "exec 9> held; touch again; sleep 600")
    turns = [calls(("one", "quick", {})), calls(("two", "leave", {})), calls(("three", "slow", {})), say()]
    make_agent(lovia, turns, tools)
    process = start(lovia, "run", "agent.yaml", "go", "--run-id", "r1")
    process.kill()
    process.wait()
    assert select.select([held], [], [], 30) == ([held], [], [])
    assert os.read(held, 1) == b""  # nobody holds the other end
    os.close(held)
    os.kill(int(results(lovia, "r1")[1]["output"]), signal.SIGKILL)
    process.communicate()  # the child had its streams too


def test_c01_nor_does_it_where_the_guard_was_killed_before(lovia: Lovia) -> None:
    lovia.write("tools.py", STRIKE)
    os.mkfifo(lovia.folder / "held")
    held = os.open(lovia.folder / "held", os.O_RDONLY | os.O_NONBLOCK)
    tools = shell("quick", "echo quick") + python("strike") + shell("slow", "exec 9> held; touch again; sleep 600")
    turns = [calls(("one", "quick", {})), calls(("two", "strike", {})), calls(("three", "slow", {})), say()]
    make_agent(lovia, turns, tools)
    process = start(lovia, "run", "agent.yaml", "go", "--run-id", "r1")
    process.kill()
    process.communicate()
    assert select.select([held], [], [], 30) == ([held], [], [])
    assert os.read(held, 1) == b""
    os.close(held)
    assert ["is_error" in result for result in results(lovia, "r1")] == [False, False]


def test_z3_only_the_call_that_hung_runs_again(lovia: Lovia) -> None:
    """Calls 2 and 3 are done and durable while call 1 still runs; the kill then costs call 1 only."""
    wait = "until [ $(lovia history r1 --json | grep -o result | wc -l) = 2 ]; do :; done; "
    tools = shell(
        "slow", "echo slow >> n.txt; [ -e again ] || { " + wait + "echo $$ > pid; touch again; exec sleep 600; }"
    )
    tools += shell("quick", "echo $LOVIA_CALL_ID >> n.txt; echo quick")
    make_agent(lovia, [calls(("one", "slow", {}), ("two", "quick", {}), ("three", "quick", {})), say()], tools)
    kill(lovia, "run", "agent.yaml", "go", "--run-id", "r1")
    assert [result["call_id"] for result in results(lovia, "r1")] == ["two", "three"]
    assert sorted(lines(lovia, "n.txt")) == ["slow", "three", "two"]

    assert lovia("resume", "r1").code == 0
    assert sorted(lines(lovia, "n.txt")) == ["slow", "slow", "three", "two"]
    assert [result["call_id"] for result in results(lovia, "r1")] == ["one", "two", "three"]
    assert asked(lovia) == [("r1", 1), ("r1", 2)]


def test_c03_the_session_goes_on_beside_a_killed_run(lovia: Lovia) -> None:
    c01_agent(lovia)
    kill(lovia, "run", "agent.yaml", "zebra", *RUN[3:])
    cases = {"cases": [{"when": "zebra|killmid", "text": "leak"}, {"text": "hi"}]}
    lovia.agent([cases], name="other.yaml")
    ran = lovia("run", "other.yaml", "hello", "--session", "u1", "--run-id", "job-2")
    assert (ran.code, ran.out) == (0, "hi\n")
    assert "job-1" in ran.err
    assert segments(lovia, "u1") == ["job-2"]

    assert lovia("resume", "job-1").code == 0
    assert segments(lovia, "u1") == ["job-2", "job-1"]
    assert lines(lovia, "n.txt") == ["start c2 2 after 2", "start c2 2 after 2", "end"]


def test_c05_one_id_for_every_call(lovia: Lovia) -> None:
    tools = shell("echo0", "echo r0") + shell("echo1", "echo r1; echo x >> r1.txt") + KILLMID
    ids = [calls(("call_0", name, {})) for name in ("echo0", "echo1", "killmid")]
    make_agent(lovia, [*ids, say()], tools)
    kill(lovia, *RUN)
    assert lovia("resume", "job-1").code == 0
    found = [(result["step"], result["position"], result["output"]) for result in results(lovia, "job-1")]
    assert found == [(1, 1, "r0\n"), (2, 1, "r1\n"), (3, 1, "")]
    assert lines(lovia, "r1.txt") == ["x"]
    assert lines(lovia, "n.txt") == ["start call_0 3 after 3", "start call_0 3 after 3", "end"]
    assert len(asked(lovia)) == 4


def test_c05_one_id_within_a_step(lovia: Lovia) -> None:
    tools = shell("quick", "echo $LOVIA_IDEMPOTENCY_KEY >> n.txt; echo quick") + KILLMID
    make_agent(lovia, [calls(("c", "quick", {}), ("c", "quick", {})), calls(("c", "killmid", {})), say()], tools)
    kill(lovia, "run", "agent.yaml", "go", "--run-id", "r1")
    assert lovia("resume", "r1").code == 0
    assert sorted(line for line in lines(lovia, "n.txt") if line.startswith("r1")) == ["r1/1.1", "r1/1.2"]
    assert [result["step"] for result in results(lovia, "r1")] == [1, 1, 2]
