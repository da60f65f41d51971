"""The field cases of crashes, damage, writers, size, rewind, trim and drift, on a database (S8)."""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from contextlib import closing
from sqlite3 import connect
from typing import Any

import pytest

from tests.cli.lovia import Lovia, end
from tests.field.kit import HANG_ONCE, asked, calls, kill, lines, make_agent, python, results, say, segments, shell

KEYED = '''
from lovia_cli.tools.base import ToolContext


def quick(n: int, ctx: ToolContext) -> str:
    """Do something quick."""
    with open("n.txt", "a") as effects:
        effects.write(ctx.idempotency_key + "\\n")
    return "x" * 50_000 if n < 0 else f"did {n}"
'''


@pytest.fixture
def lovia(lovia: Lovia) -> Lovia:
    """The script with a database for a store."""
    lovia.env["LOVIA_STORE"] = "sqlite:store.db"
    lovia.write("tools.py", KEYED)
    return lovia


def database(lovia: Lovia) -> bytes:
    return (lovia.folder / "store.db").read_bytes()


def entries(lovia: Lovia, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lovia("show", f"session:{session}", "--json").json["entries"]
    return found


def test_c19_random_kills(lovia: Lovia) -> None:
    """Twenty calls in each run, killed once at a random moment from its start to beyond its end."""
    turns = [calls(*((f"c{n}", "quick", {"n": n}) for n in range(4))) for _ in range(5)]
    make_agent(lovia, [*turns, say()], python("quick"))
    when, killed, runs = random.Random(19), 0, 6
    began = time.monotonic()
    assert lovia("run", "agent.yaml", "go", "--session", "u1", "--run-id", "r0").code == 0
    whole = time.monotonic() - began
    for number in range(1, runs):
        command = ("run", "agent.yaml", "go", "--session", "u1", "--run-id", f"r{number}")
        process = lovia.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(when.random() * 1.2 * whole)
        except subprocess.TimeoutExpired:
            killed += 1
        process.kill()
        process.wait()
        again = lovia(*command)
        assert (again.code, again.out) == (0, "done\n"), again
    assert segments(lovia, "u1") == [f"r{number}" for number in range(runs)]
    done, requests = lines(lovia, "n.txt"), asked(lovia)
    assert len(set(done)) == runs * 20
    assert len(done) <= runs * 20 + 4 * killed  # of the four that ran side by side at each kill
    assert len(set(requests)) == runs * 6
    assert len(requests) <= runs * 6 + killed
    assert lovia("doctor").code == 0


@pytest.mark.parametrize("how", ["cut to 100 bytes", "cut in its middle", "first page overwritten"])
def test_c19_a_damaged_file_is_named_and_never_begun_anew(lovia: Lovia, how: str) -> None:
    lovia.agent([say()])
    assert lovia("run", "agent.yaml", "go", "--session", "u1", "--run-id", "r1").code == 0
    whole, path = database(lovia), lovia.folder / "store.db"
    cut = {"cut to 100 bytes": 100, "cut in its middle": len(whole) // 2}.get(how)
    path.write_bytes(whole[:cut] if cut else b"x" * 4096 + whole[4096:])
    before = database(lovia)
    for words in (["show", "r1"], ["run", "agent.yaml", "more", "--session", "u1"]):
        ran = lovia(*words)
        assert (ran.code, ran.out, str(path) in ran.err, "Traceback" in ran.err) == (10, "", True, False), ran
        assert database(lovia) == before


def test_c21_many_writers_in_one_session(lovia: Lovia) -> None:
    lovia.agent([say("hi")])
    many = 8
    started = [
        lovia.start("run", "agent.yaml", f"m{number}", "--session", "u1", "--run-id", f"r{number}")
        for number in range(many)
    ]
    ended = [end(process) for process in started]
    assert [ran.code for ran in ended] == [0] * many, ended
    assert Counter(entry["run_id"] for entry in entries(lovia, "u1")) == {f"r{number}": 2 for number in range(many)}


def test_c23_an_id_is_no_path(lovia: Lovia) -> None:
    lovia.agent([say("hi")])
    names = ["../x", "/tmp/x", "' OR 1=1 --", "X", "x"]
    before = {path.name for path in lovia.folder.iterdir()}
    for name in names:
        assert lovia("run", "agent.yaml", "go", f"--session={name}", f"--run-id={name}").code == 0
    listed = lovia("history", "--json").json
    assert sorted(run["run_id"] for run in listed["runs"]) == sorted(names)
    assert [line["run_id"] for line in entries(lovia, names[2])] == [names[2]] * 2
    assert {path.name for path in lovia.folder.iterdir()} - before == {"store.db", "store.db.locks"}
    assert not (lovia.folder.parent / "x").exists()


def test_c25_disk_grows_with_what_is_new(lovia: Lovia) -> None:
    steps, size = 40, 50_000
    turns = [
        calls((f"c{step}", *(("hang", {}) if step == 30 else ("quick", {"n": -step})))) for step in range(1, steps + 1)
    ]
    make_agent(lovia, [*turns, say()], python("quick") + shell("hang", HANG_ONCE))
    kill(lovia, "run", "agent.yaml", "go", "--session", "u1", "--run-id", "r1")
    assert lovia("resume", "r1").out == "done\n"
    payload = size * (steps - 1)
    assert len(database(lovia)) < 2.1 * payload  # once in the run, once in the session
    assert (len(lines(lovia, "n.txt")), len(asked(lovia))) == (steps - 1, steps + 1)
    assert lovia("rm", "run:r1", "-y").code == 0
    assert len(database(lovia)) < 1.1 * payload


def test_c27_c29_rewind_between_call_and_result_then_trim_then_recall(lovia: Lovia) -> None:
    both = {"text": "both", **calls(("c", "quick", {"n": -1}), ("c", "quick", {"n": -2}))}
    recall = calls(("k", "recall_tool_result", {"reference": "r1/1.1"}))
    make_agent(lovia, [both, say("one")], python("quick"))
    for number in (1, 2):
        assert lovia("run", "agent.yaml", "a", "-s", "u1", "--run-id", f"r{number}").code == 0
    before = database(lovia)
    for wrong in (["--keep-entries", "-1"], ["--keep-entries", "14"], ["--keep-entries", "99"]):
        assert lovia("rewind", "u1", *wrong, "-y").code == (2 if "-1" in wrong else 0)
        assert database(lovia) == before
    cut = lovia("rewind", "u1", "--keep-entries", "12", "-y", "--json").json
    assert (cut["removed"], cut["left"], cut["truncated"]) == (3, 11, "r2")  # the second call went with its result
    left = [entry["type"] for entry in entries(lovia, "u1")][7:]
    assert left == ["input", "assistant_text", "tool_call", "tool_result"]

    assert lovia("trim", "u1", "-y", "--json").json["trimmed"] == 2
    trimmed = database(lovia)
    assert len(trimmed) < len(before)
    assert lovia("trim", "u1", "-y", "--json").json["trimmed"] == 0
    assert database(lovia) == trimmed
    make_agent(lovia, [recall, say("seen")], python("quick"))
    assert lovia("run", "agent.yaml", "b", "-s", "u1", "--run-id", "r3").out == "seen\n"
    assert [one["output"] for one in results(lovia, "run:r3")] == ["x" * 50_000]


def test_c35_a_pending_tool_that_is_gone_leaves_the_checkpoint_as_it_is(lovia: Lovia) -> None:
    hang = shell("hang", HANG_ONCE)
    make_agent(lovia, [calls(("h", "hang", {})), say()], hang)
    kill(lovia, "run", "agent.yaml", "go", "--session", "u1", "--run-id", "r1")
    lovia("history")  # rolls back what the kill has cut off
    before = database(lovia)
    make_agent(lovia, [calls(("h", "hang", {})), say()], hang.replace("name: hang", "name: hung"))
    refused = lovia("resume", "r1")
    assert (refused.code, "hang" in refused.err) == (6, True)
    assert database(lovia) == before
    make_agent(lovia, [calls(("h", "hang", {})), say()], hang)
    assert lovia("resume", "r1").out == "done\n"


def test_x7_fields_of_a_later_version_are_kept_and_an_unknown_type_hurts_no_other(lovia: Lovia) -> None:
    lovia.agent([say("hi")])
    for name in ("u1", "u2"):
        assert lovia("run", "agent.yaml", "go", "-s", name, "--run-id", f"r-{name}").code == 0
    retold(lovia, "u1", '"type":"input"', '"mood":"calm","type":"input"')
    assert lovia("rewind", "u1", "--keep-entries", "1", "-y").code == 0  # written again
    with closing(connect(lovia.folder / "store.db")) as raw:
        assert (
            '"mood":"calm"' in raw.execute("SELECT entries FROM lovia_segments WHERE session_id = 'u1'").fetchone()[0]
        )
    retold(lovia, "u2", '"type":"input"', '"type":"hologram"')
    before = database(lovia)
    refused = lovia("show", "session:u2")
    assert (refused.code, "hologram" in refused.err, "r-u2" in refused.err) == (10, True, True)
    assert [entry["type"] for entry in entries(lovia, "u1")] == ["input"]
    assert database(lovia) == before


def retold(lovia: Lovia, session: str, old: str, new: str) -> None:
    """Write the session's segment as a later version would have."""
    from stores.sqlite.segments import SegmentRow

    columns = "session_id, n, run_id, entries, meta, checksum, truncated, strand"
    with closing(connect(lovia.folder / "store.db")) as raw, raw:
        found = list(raw.execute(f"SELECT {columns} FROM lovia_segments WHERE session_id = ?", (session,)).fetchone())
        found[3:5] = found[3].replace(old, new, 1).encode(), found[4].encode()
        SegmentRow(*found).put(raw)
