"""``lovia compare``: which runs are meant, what is printed, and what a script reads (H4)."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence

import pytest

from tests.cli.lovia import Lovia, call
from tests.cli.terminal import at_terminal
from tests.cli.test_schema import misfits

TOOLS = "tools:\n" + "".join(
    f"  - {{type: shell, name: {name}, description: x, command: [echo, done]"
    ", args: {city: {type: string, default: none}}}\n"
    for name in ("look", "book")
)


def usage(input_tokens: int) -> dict[str, object]:
    return {"usage": {"input_tokens": input_tokens, "output_tokens": 1}}


def recorded(lovia: Lovia, run_id: str, *turns: dict[str, object], options: Sequence[str] = ()) -> None:
    """A run of ``turns``."""
    lovia.agent([{**turn, **usage(10)} for turn in turns], tools=TOOLS)
    ran = lovia("run", "agent.yaml", "Plan", "--run-id", run_id, *options)
    assert ran.code == 0, ran


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Lovia:
    """``trip``, its ``twin`` of session s1, ``trip2`` that books elsewhere after a step more, and ``trip@1``, an id."""
    lovia = Lovia(tmp_path_factory.mktemp("trips"))
    look, end = call("look", {"city": "Lisbon"}), {"text": "Two nights in Lisbon are booked."}
    recorded(lovia, "trip", look, call("book", {"city": "Lisbon"}), end)
    recorded(lovia, "trip@1", {"text": "odd"})
    recorded(lovia, "twin", look, call("book", {"city": "Lisbon"}), end, options=["-s", "s1"])
    faro = {"text": "Two nights in Faro are booked."}
    recorded(lovia, "trip2", look, call("look", {"city": "Faro"}), call("book", {"city": "Faro"}), faro)
    return lovia


SAME = """\
A trip: 3 steps, 2 tool calls, 33 tokens, completed (stop)
B twin: 3 steps, 2 tool calls, 33 tokens, completed (stop)

= input  Plan
= step 1  look
= step 2  book
= step 3  Two nights in Lisbon are booked.

the same: 3 steps
"""
OTHER = """\
A trip: 3 steps, 2 tool calls, 33 tokens, completed (stop)
B trip2: 4 steps, 3 tool calls, 44 tokens, completed (stop)

= input  Plan
= step 1  look
+ step 2, only in B
  + call 2.1 look {"city":"Faro"}
  + result 2.1 done
~ step 2 of A, step 3 of B
  - call 2.1 book {"city": "[-Lisbon-]"}
  + call 3.1 book {"city": "{+Faro+}"}
    result 2.1 done
~ step 3 of A, step 4 of B
  - assistant: Two nights in [-Lisbon-] are booked.
  + assistant: Two nights in {+Faro+} are booked.

tool order: look, book -> look x2, book
arguments: 2.1 / 3.1 book city: "Lisbon" -> "Faro"
step count: 3 -> 4
they differ from step 2 on: 2 steps changed, 1 step only in B
"""


def test_h4_the_same_runs_are_said_to_be_the_same(trips: Lovia) -> None:
    ran = trips("compare", "trip", "twin", "--exit-code")
    assert (ran.code, ran.out, ran.err) == (0, SAME, "")


def test_h4_what_differs_is_printed_step_by_step(trips: Lovia) -> None:
    assert trips("compare", "trip", "trip2").out == OTHER
    ran = trips("compare", "trip", "trip2", "--exit-code", "--json")
    assert (ran.code, misfits("comparison", ran.json)) == (9, [])
    assert [ran.json[key] for key in ("exit_code", "same", "diverged_at", "html")] == [9, False, 2, None]
    assert (ran.json["a"]["usage"]["input_tokens"], ran.json["b"]["cost_usd"]) == (30, None)
    rows = trips("compare", "trip", "trip2", "-o", "ndjson").lines
    assert [row["kind"] for row in rows] == ["side", "side", *["row"] * 5, "summary"]


def test_h4_a_step_behind_an_id_is_where_it_ends_and_an_exact_id_wins(trips: Lovia) -> None:
    cut = trips("compare", "trip@2", "twin@2", "--json").json
    assert (cut["same"], cut["a"]["name"], cut["a"]["upto"], cut["a"]["steps"]) == (True, "trip@2", 2, 2)
    assert cut["a"]["usage"]["input_tokens"] == 20
    assert trips("compare", "trip@1", "twin", "--json").json["a"]["run_id"] == "trip@1"
    assert trips("compare", "trip2@1", "trip", "--json").json["drift"]["step_count"] == {"a": 1, "b": 3}
    assert trips("compare", "trip@1@1", "trip@1", "--json").json["same"]


def test_h4_a_session_stands_for_its_run_and_last_for_the_newest(trips: Lovia) -> None:
    data = trips("compare", "session:s1", "--last", "--json").json
    assert (data["a"]["run_id"], data["b"]["run_id"]) == ("twin", "trip2")
    assert trips("compare", "s1@1", "trip2@1", "--json").json["same"]


def test_h4_an_exported_file_is_a_run(trips: Lovia) -> None:
    for form, name in (("jsonl", "trip"), ("json", "s1")):
        trips.shell(f"lovia export {name} --format {form} > was.{form}")
    assert trips("compare", "was.jsonl", "trip", "--json").json["a"]["name"] == "was.jsonl"
    (trips.folder / "damaged").write_bytes((trips.folder / "was.jsonl").read_bytes()[:300])
    damaged = trips("compare", "was.jsonl", "damaged")
    hint = "  hint: export it again, or mend the file; a run is compared by its id, too"
    assert (damaged.code, damaged.err.splitlines()[-1]) == (10, hint), "nothing was to be stored"
    cut = trips("compare", "was.jsonl@2", "was.json@2", "--exit-code", "--json").json
    assert (cut["exit_code"], cut["a"]["usage"]["input_tokens"]) == (0, 20)
    assert (cut["b"]["run_id"], cut["b"]["usage"]) == ("twin", None), "a run of that id in the store is another"
    assert (
        trips("compare", "was.jsonl@1", "was.json@1", "--json", "--store", "new").json["a"]["usage"]["output_tokens"]
        == 1
    )
    ran = trips("compare", "agent.yaml", "trip")
    assert (ran.code, ran.out) == (10, "")
    assert "agent.yaml" in ran.err


def test_h4_a_file_may_have_a_path_that_is_longer_than_an_id(trips: Lovia) -> None:
    folder = trips.folder / "/".join("abc") / ("d" * 130) / ("e" * 130)
    folder.mkdir(parents=True)
    trips.shell(f"lovia export trip > {folder}/was.jsonl")
    data = trips("compare", f"{folder}/was.jsonl@2", "trip@2", "--json").json
    assert (data["same"], data["a"]["name"]) == (True, "was.jsonl@2")


def test_h4_a_fork_alone_is_compared_with_what_it_was_forked_from(lovia: Lovia) -> None:
    recorded(lovia, "trip", call("look", {"city": "Lisbon"}), {"text": "ok"})
    lovia("fork", "trip", "--from-step", "1", "--tool-result", '1.1="rain"', "--run")
    ran = lovia("compare", "--last", "--exit-code")
    assert (ran.code, ran.out.splitlines()[:4]) == (
        9,
        [
            "A trip: 2 steps, 1 tool call, 22 tokens, completed (stop)",
            "B trip.fork-1: 2 steps, 1 tool call, 22 tokens, completed (stop)",
            "  forked from trip at step 1",
            '  patched: result of 1.1 look: "done\\n" -> "rain"',
        ],
    )
    told = lovia("compare", "trip.fork-1@1", "--json").json
    assert ([told[side]["name"] for side in "ab"], told["diverged_at"]) == (["trip@1", "trip.fork-1@1"], 1)
    assert misfits("comparison", told) == []
    assert told["b"]["forked_from"]["patch"][0]["now"] == "rain"
    lovia("rm", "trip", "--keep-history", "-y")
    assert lovia("compare", "trip.fork-1", "--json").json["diverged_at"] == 1
    lovia("rm", "trip", "-y")
    gone = lovia("compare", "trip.fork-1")
    assert (gone.code, "the run 'trip' that it was forked from is gone" in gone.err) == (5, True)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["trip", "trap"], 5, "did you mean 'trip'"),
        (["nosuch@1", "trip"], 5, "no run or session 'nosuch'"),
        (["trip@4", "twin"], 5, "run 'trip' has no step 4"),
        (["trip@4", "twin"], 5, "its steps are 1 to 3"),
        (["trip@x", "twin"], 5, "no run or session 'trip@x'"),
        (["é" * 200, "twin"], 5, "no run or session 'é"),
        (["x" * 300, "twin"], 2, "more than 255"),
        (["x\n@1", "twin"], 2, "contains U+000A"),
        (["trip@0", "twin@0"], 0, ""),
        (["trip"], 2, "run 'trip' is no fork"),
        ([], 2, "no run or session given"),
        (["trip", "twin", "--last"], 2, "'twin' and --last"),
        (["trip", "twin", "--html", "no/such/folder.html"], 2, "cannot write no/such/folder.html"),
        (["trip", "twin", "--html", "."], 2, "--html"),
        (["trip", "twin", "--html", ""], 2, "no file named"),
    ],
)
def test_h4_x5_what_cannot_be_compared(trips: Lovia, argv: list[str], code: int, said: str) -> None:
    before = (sorted(trips.folder.rglob("*")), trips.store_bytes())
    ran = trips("compare", *argv)
    assert (ran.code, said in ran.err, ran.out == "") == (code, True, code != 0), ran
    assert (sorted(trips.folder.rglob("*")), trips.store_bytes()) == before


def test_h4_the_page_is_a_file_of_its_owner_alone_and_replaces_another(trips: Lovia) -> None:
    trips.write("page.html", "old")
    (trips.folder / "link.html").symlink_to("page.html")
    ran = trips("compare", "trip", "twin", "--html", "link.html")
    page = trips.folder / "page.html"
    assert (ran.out, ran.err) == (SAME, f"wrote {trips.folder / 'link.html'}\n")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "<h1><bdi>trip</bdi> and <bdi>twin</bdi></h1>" in page.read_text(encoding="utf-8")
    assert (trips.folder / "link.html").is_symlink()
    assert trips("compare", "trip", "twin", "--html", "/dev/stdout", "-q").out.startswith("<!doctype html>")


def test_h4_wide_terminals_have_the_sides_beside_each_other(trips: Lovia) -> None:
    wide = at_terminal(trips, "compare", "trip", "trip2", columns=160, env={"NO_COLOR": "1"}).lines
    left, right = '  - call 2.1 book {"city": "[-Lisbon-]"}', ' | + call 3.1 book {"city": "{+Faro+}"}'
    assert left.ljust(78) + right in wide
    narrow = at_terminal(trips, "compare", "trip", "trip2", columns=40).lines
    assert '  \x1b[31m-\x1b[0m call 2.1 book {"city": "\x1b[31mLisbon\x1b[0m"}' in narrow
    plain = at_terminal(trips, "compare", "trip", "trip2", columns=40, env={"NO_COLOR": "1"}).lines
    assert max(map(len, plain)) <= 40


EVIL = "a\x1b]0;t\x07b\x1b[2K\rOK\x9b31mc\u202ed [/tmp] [bold]x[/bold] <script>alert(1)</script> &amp; \"'"


def test_x1_x3_no_text_acts_on_a_terminal_or_a_page(lovia: Lovia) -> None:
    lovia.write("tools.py", f'def say() -> str:\n    "Say."\n    return {EVIL!r}\n')
    name = "".join(char for char in EVIL if char.isprintable())
    for run_id, ask in (("1" + name, EVIL), ("2" + name, "x" + EVIL)):
        turns = [{"reasoning": ask, "text": ask, **call("say", ask, id=EVIL)}, call(EVIL, {EVIL: ask}), {"text": ask}]
        lovia.agent(turns, tools="tools: [./tools.py:say]")
        lovia("run", "agent.yaml", ask, "--run-id", run_id)
    ran = lovia("compare", "1" + name, "2" + name, "-v", "--html", "page.html")
    assert not [char for char in ran.out + ran.err if char != "\n" and not char.isprintable()], ran
    assert (ran.code, "[/tmp] [bold]x[/bold]" in ran.out) == (0, True)
    page = (lovia.folder / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert not [char for char in page if char != "\n" and not char.isprintable()]
    exact = lovia("compare", "1" + name, "2" + name, "--json").json
    assert exact["rows"][0]["a"]["inputs"][0]["text"] == EVIL


def test_x_a_reader_that_leaves_is_no_error(trips: Lovia) -> None:
    ran = trips.shell("lovia compare trip trip2 --exit-code | head -1; echo ${PIPESTATUS[0]}")
    assert (ran.out.splitlines()[1], ran.err) == ("9", "")


def test_a_secret_in_the_environment_is_not_on_the_page(lovia: Lovia) -> None:
    """Not even where it is what differs, nor within JSON in a text of JSON."""
    secret, other = (f'-----BEGIN KEY-----\nhunter{n}"\\hunter\u00e9\n-----END KEY-----' for n in (2, 3))
    for run_id, key in (("r1", secret), ("r2", other)):
        lovia.agent([call("nosuch", {"key": key, "body": json.dumps({"key": key})}), {"text": f"the key is {key}"}])
        lovia("run", "agent.yaml", "go", "--run-id", run_id)
    lovia("compare", "r1", "r2", "--html", "page.html", env={"SHOP_TOKEN": secret, "OTHER_TOKEN": other})
    page = (lovia.folder / "page.html").read_text(encoding="utf-8")
    assert ("hunter" in page, page.count("SHOP_TOKEN"), page.count("OTHER_TOKEN")) == (False, 5, 5)
