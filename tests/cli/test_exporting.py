"""`lovia export`, `lovia import` and `lovia replay`, as they are typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lovia_cli.cli.redacting import Redactor
from lovia_cli.cli.secrets import known_values
from lovia_cli.cli.shapes_replay import replay_schema
from lovia_cli.models.recorded import script_of
from lovia_cli.render.markdown import markdown
from lovia_cli.render.page import transcript_page
from stores.entries import AssistantTextEntry, Entry, InputEntry, ToolCallEntry, entry_to_json
from stores.exchange import MAX_BYTES, RunRecord, SessionRecord, document_of, record_of, run_record
from stores.records import RunHead, RunSnapshot, Save, Segment
from tests.cli.lovia import KEYS, Lovia, call, shell_tool

KEY = "sk-proj-0123456789abcdefghij"


@pytest.fixture
def used(lovia: Lovia) -> Lovia:
    """A run r1 in session u1, with one call."""
    lovia.agent(
        [{"reasoning": "Hm.", **call("look")}, {"text": "Sun, <b>`*`</b>"}],
        tools="tools:\n" + shell_tool("look", "echo sun"),
    )
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1").code == 0
    return lovia


def exported(lovia: Lovia, *argv: str) -> bytes:
    ran = lovia("export", *argv)
    assert (ran.code, ran.err) == (0, "")
    return ran.stdout


# --- out and in -------------------------------------------------------------------------------------------------------


def test_m2_archived_outputs_stay_behind_and_that_is_said(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "x"}], tools="tools:\n" + shell_tool("look", "seq 500"))
    for run_id in ("r1", "r2", "r3"):
        lovia("run", "agent.yaml", "go", "--run-id", run_id, "-s", "u1")
    assert lovia("trim", "u1", "-y").code == 0
    ran = lovia("export", "u1")
    assert ran.err == "2 archived outputs stay behind: elsewhere, recall_tool_result cannot give them back\n"
    (lovia.folder / "session").write_bytes(ran.stdout)
    told = "2 archived outputs are not in this store: recall_tool_result cannot give them back"
    assert lovia("import", "session", "--store", "two").err == f"{told}\n"
    assert lovia("import", "session", "--store", "two", "--new-id", "u2", "--json").json["notes"] == [told]
    assert lovia("import", "session", "--new-id", "u3", "--json").json["notes"] == []
    next((lovia.folder / ".lovia" / "results").glob("r1.*/*")).write_bytes(b"")
    told = "1 archived output is not in this store: recall_tool_result cannot give it back"
    assert lovia("import", "session", "--new-id", "u4", "--json").json["notes"] == [told]


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_what_is_exported_and_imported_is_exported_the_same(used: Lovia, form: str) -> None:
    run, session = exported(used, "r1", "--format", form), exported(used, "u1", "--format", form)
    for argv, data in ((["import", "session"], session), (["import", "-"], run)):
        (used.folder / "session").write_bytes(data)
        assert used(*argv, "--store", "two", stdin=data).code == 0
    assert used("export", "r1", "--format", form, "--store", "two").stdout == run
    assert used("export", "u1", "--format", form, "--store", "two").stdout == session
    assert used("replay", "r1", "--store", "two").out == "Sun, <b>`*`</b>\n"
    assert used("doctor", "--store", "two").code == 0


def test_the_output_option_gives_the_same_files(used: Lovia) -> None:
    assert used("export", "r1", "-o", "ndjson").stdout == exported(used, "r1")
    assert used("export", "r1", "--json").json == json.loads(exported(used, "r1", "--format", "json"))
    assert (
        used("export", "r1", "--format", "md", "--json").json["text"] == exported(used, "r1", "--format", "md").decode()
    )


def test_an_import_says_what_it_took_in_and_never_replaces(used: Lovia) -> None:
    (used.folder / "r1.jsonl").write_bytes(exported(used, "r1"))
    before = used.store_bytes()
    again = used("import", "r1.jsonl", "--json")
    assert (again.code, again.json["error"]["code"]) == (6, "run_exists")
    assert used.store_bytes() == before
    other = used("import", "r1.jsonl", "--new-id", "copy", "--json").json
    store = str(used.folder / ".lovia")
    assert other == {
        "v": 1, "exit_code": 0, "store": store, "kind": "run", "run_id": "copy", "session_id": None,
        "status": "completed", "steps": 2, "notes": [],
    }  # fmt: skip
    assert used("show", "copy").out.split("\n")[1:] == used("show", "r1").out.split("\n")[1:]
    assert used("fork", "copy", "--from-step", "1").code == 0


def test_h2_input_given_behind_an_answer_is_sent_to_the_run_that_plays_it_as_the_note_says(lovia: Lovia) -> None:
    lovia.agent([{"text": "one"}, {"text": "two"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    assert lovia("fork", "r1", "--from-step", "1", "--append-input", "more", "--new-id", "r2", "--run").out == "two\n"
    scripted = lovia("export", "r2", "--format", "scripted")
    (lovia.folder / "again.json").write_bytes(scripted.stdout)
    told, _, command = scripted.err.rstrip("\n").partition(" with lovia ")
    assert told.endswith("more input after step 1; a script cannot send it: send it to the run that plays this")
    assert lovia("run", "agent.yaml", "go", "--run-id", "p", "-m", "scripted:again.json").out == "one\n"
    words = ["p" if word == "RUN" else word for word in command.split()]
    assert lovia(*words).out == "two\n"


def test_s7_a_run_without_the_history_that_it_began_with_is_no_whole_run(used: Lovia) -> None:
    """It is taken in, and nobody is told to resume it before its session is there, which comes behind it."""
    assert used("run", "agent.yaml", "on", "--run-id", "r2", "-s", "u1", "--max-steps", "1").code == 7
    for name in ("r2", "u1"):
        (used.folder / name).write_bytes(exported(used, name if name == "r2" else "session:u1", "-q"))
    told = (
        "the run began with the history up to run r1 of session u1, which this store has not got; "
        "import that session, before the run goes on without"
    )
    alone = used("import", "r2", "--store", "two")
    assert (alone.code, "resume" in alone.out, told in alone.err) == (0, False, True), alone
    assert used("import", "r2", "--store", "three", "--json").json["notes"] == [told]
    assert used("import", "u1", "--store", "two").code == 0
    assert used("import", "r2", "--store", "two").code == 6, "it is there already"
    assert used("import", "u1", "--store", "four").code == 0
    whole = used("import", "r2", "--store", "four")
    assert (whole.err, whole.out.splitlines()[1]) == ("", "go on with: lovia resume --store four r2")


def test_x5_what_is_no_export_is_named_and_stores_nothing(used: Lovia) -> None:
    whole = exported(used, "r1", "--format", "jsonl")
    with (used.folder / "huge").open("wb") as file:
        file.truncate(1024**3)
    (used.folder / "cut").write_bytes(whole[: whole.index(b'"call_id"')])
    (used.folder / "new").write_bytes(whole.replace(b'"v":1', b'"v":2', 1))
    (used.folder / "deep").write_bytes(b"[" * 1_000_000)
    before = used.store_bytes()
    for name, code, said in [
        ("huge", 10, f"larger than {MAX_BYTES // 1024**2} MB"),
        ("cut", 10, "cut:5"),
        ("new", 10, "upgrade lovia"),
        ("deep", 10, "deep:1"),
        ("agent.yaml", 10, "agent.yaml:1"),
        ("nowhere", 2, "No such file"),
        (".", 2, "Is a directory"),
        ("/dev/null", 10, "it is empty"),
    ]:
        ran = used("import", name)
        assert (ran.code, ran.out) == (code, "")
        assert said in ran.err, ran
        assert ran.err.count("\n") == 3
    closed = used.shell("lovia import - <&-")
    assert (closed.code, closed.out, closed.err.splitlines()[0]) == (2, "", "error: cannot read -: stdin is closed")
    assert used.store_bytes() == before


# --- for people -------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_one_page_without_script_and_network_and_nothing_in_a_text_is_markup(used: Lovia) -> None:
    evil = "<script>alert(1)</script><img src=http://x onerror=y> \x1b[2J ]]> &lt; \u202e"
    used.agent(
        [
            {"reasoning": evil, "text": evil, "tool_calls": [{"id": evil, "name": evil, "arguments": evil}]},
            {"text": evil},
        ]
    )
    used("run", "agent.yaml", evil, "--run-id", "<i>r2</i>")
    text = exported(used, "<i>r2</i>", "--format", "html").decode()
    page = Page(text)
    assert not {"script", "img", "link", "iframe", "b", "i"} & set(page.tags)
    assert not [value for name, value in page.attributes if name in ("src", "href") or name.startswith("on")]
    assert page.text.count("<script>alert(1)</script>") == 7
    assert not {"\x1b", "\u202e"} & set(text)
    for needed in ("default-src 'none'", "prefers-color-scheme: dark", "viewport"):
        assert needed in text


def test_markdown_keeps_every_text_in_its_block(used: Lovia) -> None:
    evil = "![x](https://evil.example/p.png?s=1) [y](z) https://x\n\n# Not a heading\n===\n<img src=x>\n````\nfence"
    used.agent([{"reasoning": evil, "text": evil}])
    used("run", "agent.yaml", evil, "--run-id", "r2")
    text = exported(used, "r2", "--format", "md").decode()
    for label in ("user", "reasoning", "assistant"):
        told = f"**{label}**\n\n`````\n{evil}\n`````\n"
        assert told in text
        text = text.replace(told, "")
    assert text.partition("### Input")[2].split() == ["###", "Step", "1"]
    assert "**result 1.1**\n\n```\nsun\n```\n" in exported(used, "r1", "--format", "md").decode()
    session = exported(used, "u1", "--format", "md").decode()
    assert session.startswith("# session u1\n\n## run r1\n\n- steps: 2\n")


class Watched(list[Entry]):
    """Entries that count how often somebody goes through them."""

    times = 0

    def __iter__(self) -> Iterator[Entry]:
        self.times += 1
        return super().__iter__()


@pytest.mark.parametrize("export", [markdown, transcript_page, script_of])
def test_a_transcript_is_gone_through_as_often_however_many_steps_it_has(
    export: Callable[[RunSnapshot], object],
) -> None:
    def times(steps: int) -> int:
        entries = Watched(AssistantTextEntry(text="hi", step=step) for step in range(1, steps + 1))
        export(RunSnapshot(run_id="r", head=RunHead(steps=steps), entries=entries))
        return entries.times

    assert times(20) == times(2)


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_redact_takes_out_what_is_known_and_what_looks_like_a_key(lovia: Lovia) -> None:
    env = {"SHOP_TOKEN": 'tok/42 "x"', "REGION": "eu-west-1"}
    tool = shell_tool("look", f"echo $T in $R; echo {KEY}; echo https://me:pass@x.org").replace(
        "}\n", ', env: {T: "${env.SHOP_TOKEN}", R: "${env.REGION}"}}\n'
    )
    lovia.agent([call("look"), {"text": "done"}], tools="tools:\n" + tool)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", env=env)
    assert "tok/42" in lovia("show", "r1").out
    plain = lovia("export", "r1", env=env)
    assert plain.code == 0, plain
    assert (b"tok/42" in plain.stdout, KEY.encode() in plain.stdout, b"[SHOP_TOKEN]" in plain.stdout) == (
        False,
        True,
        True,
    )
    assert plain.err == "2 secrets left out\n"
    for form in ("jsonl", "json", "md", "html", "scripted"):
        ran = lovia("export", "r1", "--format", form, "--redact", env=env)
        assert ran.code == 0
        assert not [part for part in ("tok/42", KEY, "me:pass", "eu-west-1") if part in ran.out]
    redacted = lovia("export", "r1", "--redact", env=env).stdout
    assert lovia("import", "-", "--store", "two", stdin=redacted).code == 0
    (lovia.folder / "agent.yaml").unlink()
    told = lovia("export", "r1", "--redact", env=env).err
    assert "agent.yaml cannot be read, so the variables that it names are not known\n" in told


def test_a_key_is_told_by_its_shape_and_other_text_stays() -> None:
    keys = [
        KEY, "sk-ant-api03-abcdefghijklmnop_-", "ghp_" + "a1" * 18, "github_pat_" + "a1" * 20, "glpat-" + "a1" * 10,
        "xoxb-123456789012-abc", "AKIAIOSFODNN7EXAMPLE", "AIza" + "a" * 35, "hf_" + "a" * 34, "npm_" + "b" * 36,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ]  # fmt: skip
    redactor = Redactor({}, shapes=True)
    for key in keys:
        assert redactor.text(f"a {key}, b") == "a [redacted], b"
    assert redactor.text("Authorization: Bearer abcdefghijklmnop123") == "Authorization: Bearer [redacted]"
    assert redactor.text("postgresql://u:p@h/db") == "postgresql://[redacted]@h/db"
    for text in (
        "task-list-of-many-long-words",
        "risk-free",
        "https://x.org/a:b@c",
        "npm-check-updates-is-a-tool",
        "bearer of bad news",
    ):
        assert redactor.text(text) == text


def test_text_that_looks_like_many_beginnings_of_web_tokens_is_read_once() -> None:
    """Read again from each beginning, it takes an hour."""
    many, token = "-eyJ" * 250_000, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3"
    redactor = Redactor({}, shapes=True)
    for text in (many, f"{many}.{many}", f"{many}.{many[1:]}"):
        assert redactor.text(text) == text
    assert redactor.text(f"{many} x_{token}.y={token}") == f"{many} [redacted].y=[redacted]"


def test_a_known_value_is_found_in_each_of_its_forms() -> None:
    known = known_values({"MY_TOKEN": 'a"b/ц secret', "SHORT_KEY": "abc", "PLAIN": "plain text"})
    assert known == {"MY_TOKEN": 'a"b/ц secret'}
    redactor = Redactor(known, shapes=False)
    for form in ('a"b/ц secret', json.dumps('a"b/ц secret')[1:-1], "a%22b%2F%D1%86%20secret"):
        assert redactor.json({"x": [f"-{form}-"], form: 1}) == {"x": ["-[MY_TOKEN]-"], "[MY_TOKEN]": 1}


# --- a script ---------------------------------------------------------------------------------------------------------


def test_an_export_stays_one_when_a_secret_is_one_of_its_words() -> None:
    words = ("completed", "assistant_text", "system", "arguments", "entries", "segment", "run")
    entries: list[Entry] = [
        InputEntry(text="go", role="system"),
        AssistantTextEntry(text="completed", step=1),
        ToolCallEntry(id="c", name="work", step=1, position=1),
    ]
    head = {"status": "completed", "state": {"status": "completed"}, "queued_input": [entry_to_json(entries[0])]}
    run = run_record("r", [Save(number=1, step=1, at=1.0, event="completed", entries=entries, head=head)])
    redactor = Redactor({f"SECRET_{word}": word for word in words}, shapes=False)
    redacted = record_of(redactor.export(document_of(run)), "redacted")
    assert isinstance(redacted, RunRecord)
    assert (redacted.head.status, redacted.saves[0].event) == ("completed", "completed")
    assert redacted.head.state == {"status": "[SECRET_completed]"}
    assert redacted.entries == [entries[0], AssistantTextEntry(text="[SECRET_completed]", step=1), entries[2]]
    session = SessionRecord(session_id="s", segments=[Segment(run_id="r", entries=entries, meta={"run": "x"})])
    redacted = record_of(redactor.export(document_of(session)), "redacted")
    assert isinstance(redacted, SessionRecord)
    assert redacted.segments[0].meta == {"[SECRET_run]": "x"}


def test_a_recorded_run_is_an_offline_test_in_one_command(used: Lovia) -> None:
    (used.folder / "recorded.json").write_bytes(exported(used, "r1", "--format", "scripted"))
    ran = used("run", "agent.yaml", "go", "-m", "scripted:recorded.json", "--run-id", "r2")
    assert (ran.code, ran.out) == (0, "Sun, <b>`*`</b>\n")
    first, second = (used("show", run, "--raw").out.replace(f'"{run}"', '""') for run in ("r1", "r2"))
    assert first == second
    assert used("export", "u1", "--format", "scripted").code == 2
    assert used("export", "r1", "--format", "xml").code == 2


# --- replay -----------------------------------------------------------------------------------------------------------


def test_r6_replay_gives_the_stored_answer_and_two_events(used: Lovia) -> None:
    (used.folder / "agent.yaml").unlink()
    assert used("replay", "u1").out == "Sun, <b>`*`</b>\n"
    told = used("replay", "--last", "--json").json
    assert list(told) == KEYS
    assert (told["status"], told["replayed"], told["exit_code"]) == ("completed", True, 0)
    events = used("replay", "r1", "-o", "ndjson").lines
    assert [(event["type"], event["replayed"]) for event in events] == [("run.started", True), ("run.finished", True)]


def test_h5_a_run_that_is_not_completed_has_nothing_to_replay(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "done"}], tools="tools:\n" + shell_tool("look", "echo sun"))
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "--max-steps", "1")
    ran = lovia("replay", "r1")
    assert (ran.code, ran.out) == (6, "")
    assert "lovia resume r1" in ran.err


def test_h5_a_changed_agent_exits_9_with_step_and_part_and_writes_nothing(used: Lovia) -> None:
    agent = (used.folder / "agent.yaml").read_text()
    used.write("new.yaml", agent + "\ninstructions: Be brief.\n")
    used.write("less.yaml", agent.split("tools:")[0])
    before = used.store_bytes()
    same = used("replay", "r1", "--agent", "agent.yaml")
    assert (same.code, same.out, same.err) == (0, "2 steps retraced: nothing differs\n", "")
    new = used("replay", "r1", "--agent", "new.yaml")
    assert (new.code, new.out) == (
        9,
        "steps 1-2, instructions: the instructions are not those that were sent\n"
        "1 difference in 2 steps, the first at step 1\n",
    )
    less = used("replay", "u1", "--agent", "less.yaml", "--json")
    assert (less.code, less.json["diverged_at"]) == (9, 1)
    assert [(one["step"], one["position"], one["part"], one["name"]) for one in less.json["differences"]] == [
        (1, None, "tools", "look"),
        (1, 1, "tools", "look"),
    ]
    Draft202012Validator(replay_schema()).validate(less.json)
    lines = used("replay", "r1", "--agent", "less.yaml", "-o", "ndjson").lines
    assert [line["kind"] for line in lines] == ["difference", "difference", "summary"]
    used.write("name.yaml", agent.replace("name: tester", "name: other"))
    named = used("replay", "r1", "--agent", "name.yaml")
    assert (named.code, named.err) == (0, "the run is one of agent 'tester', not of 'other'\n")
    assert used("replay", "r1", "--agent", "nowhere.yaml").code == 3
    assert used("replay", "nosuch", "--agent", "new.yaml").code == 5
    assert used.store_bytes() == before


def test_h5_an_agent_can_be_retraced_without_its_environment(lovia: Lovia) -> None:
    tool = shell_tool("look", "echo sun").replace("}\n", ', env: {T: "${env.SHOP_TOKEN}"}}\n')
    lovia.agent([{"text": "done"}], tools="tools:\n" + tool)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", env={"SHOP_TOKEN": "long enough"})
    assert lovia("replay", "r1", "--agent", "agent.yaml").code == 0


def test_the_schema_of_a_replay_is_printed(lovia: Lovia, tmp_path: Path) -> None:
    assert json.loads(lovia("schema", "replay").out) == replay_schema()
    assert list(tmp_path.iterdir()) == []
