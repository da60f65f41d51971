"""The options of `run` and `resume`: attachments, limits, drift, and dropping what has succeeded."""

import base64

import pytest

from tests.cli.lovia import Lovia, call, shell_tool

HI = "tools:\n" + shell_tool("hi", "echo hi")


def test_attachments_are_typed_parts_beside_the_text(lovia: Lovia) -> None:
    lovia.agent([{"text": "seen"}])
    (lovia.folder / "dot.png").write_bytes(b"\x89PNG")
    lovia.write("notes", "plain words")
    ran = lovia("run", "agent.yaml", "look", "-a", "dot.png", "--attach", "notes", "--run-id", "r1")
    assert (ran.code, ran.out) == (0, "seen\n")
    assert "\n    [image dot.png]\n    [file notes]\n" in lovia("show", "r1").out
    entry = lovia("show", "r1", "--json").json["entries"][0]
    assert entry["text"] == "look"
    assert entry["parts"] == [
        {"type": "image", "media_type": "image/png", "name": "dot.png", "data": base64.b64encode(b"\x89PNG").decode()},
        {
            "type": "file",
            "media_type": "text/plain",
            "name": "notes",
            "data": base64.b64encode(b"plain words").decode(),
        },
    ]


def test_the_same_text_with_another_attachment_is_another_input(lovia: Lovia) -> None:
    lovia.agent([{"text": "seen"}])
    lovia.write("a.txt", "a")
    lovia("run", "agent.yaml", "look", "-a", "a.txt", "--run-id", "r1")
    assert lovia("run", "agent.yaml", "look", "-a", "a.txt", "--run-id", "r1", "--json").json["input_ignored"] is False
    assert lovia("run", "agent.yaml", "look", "--run-id", "r1", "--json").json["input_ignored"] is True


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nosuch.png", None, "cannot read the attachment: No such file or directory"),
        ("blob", b"\xff\xfe\x00", "cannot tell what kind of file the attachment is"),
        ("x.zip", b"PK", "the attachment 'x.zip' is application/zip, which models cannot read"),
        ("notes.txt.gz", b"\x1f\x8b", "the attachment 'notes.txt.gz' is application/gzip, which models cannot read"),
        ("a.bmp", b"BM", "the attachment 'a.bmp' is image/bmp, which models cannot read"),
        ("a.png", b"", "the attachment 'a.png' is empty"),
        ("big.png", b"x" * 20_000_001, "the attachments are larger than 20 MB together"),
    ],
)
def test_an_attachment_that_cannot_be_sent_is_refused_before_anything_is_stored(
    lovia: Lovia, name: str, content: bytes | None, said: str
) -> None:
    lovia.agent([{"text": "seen"}])
    if content is not None:
        (lovia.folder / name).write_bytes(content)
    ran = lovia("run", "agent.yaml", "look", "-a", name)
    assert (ran.code, ran.stdout) == (2, b"")
    assert ran.err.startswith(f"error: {said}\n  where: {name}\n")
    assert not (lovia.folder / ".lovia").exists()


def test_an_attachment_without_a_name_is_a_usage_error(lovia: Lovia) -> None:
    lovia.agent([{"text": "seen"}])
    ran = lovia("run", "agent.yaml", "look", "-a", "")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "error: an attachment has no file name")
    assert not (lovia.folder / ".lovia").exists()


def test_what_an_attachment_is_its_content_tells(lovia: Lovia) -> None:
    lovia.agent([{"text": "seen"}])
    names = {"shot.png": b"\xff\xd8\xff", "shot": b"\x89PNG", "a.svg": b"<svg/>"}
    for name, content in names.items():
        (lovia.folder / name).write_bytes(content)
    ran = lovia("run", "agent.yaml", "look", *(word for name in names for word in ("-a", name)), "--run-id", "r1")
    assert ran.code == 0
    parts = lovia("show", "r1", "--json").json["entries"][0]["parts"]
    assert [(part["type"], part["media_type"], part["name"]) for part in parts] == [
        ("image", "image/jpeg", "shot.png"),
        ("image", "image/png", "shot"),
        ("file", "image/svg+xml", "a.svg"),
    ]


def test_attachments_can_steer_a_run(lovia: Lovia) -> None:
    lovia.agent([call("hi"), {"text": "ok"}], tools=HI)
    lovia.write("a.txt", "a")
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1", "--max-steps", "1").code == 7
    ran = lovia("resume", "r1", "-i", "see this", "-a", "a.txt", "--max-steps", "5")
    assert (ran.code, ran.out) == (0, "ok\n")
    [steered] = [e for e in lovia("show", "r1", "--json").json["entries"] if e.get("text") == "see this"]
    assert steered["parts"][0]["name"] == "a.txt"


def test_attachments_without_an_input_to_go_with_are_a_usage_error(lovia: Lovia) -> None:
    lovia.agent([call("hi"), {"text": "ok"}], tools=HI)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "--max-steps", "1")
    assert lovia("resume", "r1", "-a", "agent.yaml").code == 2


def test_a_cost_limit_without_a_known_price_is_refused(lovia: Lovia) -> None:
    lovia.agent([{"text": "seen"}])
    ran = lovia("run", "agent.yaml", "go", "--max-cost", "0.5")
    assert (ran.code, ran.stdout) == (2, b"")
    assert "max_cost_usd is set, and the price of scripted:agent-script.yaml is not known" in ran.err


@pytest.mark.parametrize("option", ["--max-steps", "--max-cost"])
def test_a_limit_that_is_none_is_refused_in_the_words_of_its_option(lovia: Lovia, option: str) -> None:
    lovia.agent([{"text": "ok"}])
    ran = lovia("run", "agent.yaml", "go", option, "0")
    assert (ran.code, ran.err.splitlines()[-1]) == (2, f"  hint: write: {option} 100")


def test_z7_drift_is_said_or_refused(lovia: Lovia) -> None:
    lovia.agent([call("hi"), {"text": "ok"}], tools=HI)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "--max-steps", "1")
    lovia.agent([call("hi"), {"text": "ok"}], tools=HI, more="instructions: Be new.")
    before = lovia.store_bytes()
    refused = lovia("resume", "r1", "--max-steps", "5", "--on-drift", "error", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (9, "agent_drift")
    assert lovia.store_bytes() == before
    ran = lovia("resume", "r1", "--max-steps", "5")
    assert (ran.code, ran.out) == (0, "ok\n")
    assert "the agent has changed since this run was saved: instructions changed" in ran.err


def test_c35_a_pending_tool_that_is_gone_is_refused_and_works_when_it_is_back(lovia: Lovia) -> None:
    lovia.agent([call("hi"), {"text": "ok"}], tools=HI + "limits: {max_tool_calls: 1}\n")
    lovia.agent([call("hi"), call("hi"), {"text": "ok"}], tools=HI)
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1", "--limit", "max_tool_calls=1").code == 7
    lovia.agent([call("hi"), call("hi"), {"text": "ok"}], tools="tools:\n" + shell_tool("other", "echo hi"))
    before = lovia.store_bytes()
    refused = lovia("resume", "r1", "--limit", "max_tool_calls=5")
    assert (refused.code, refused.stdout) == (6, b"")
    assert "call 2.1 is pending, and the agent no longer has its tool 'hi'" in refused.err
    assert lovia.store_bytes() == before
    lovia.agent([call("hi"), call("hi"), {"text": "ok"}], tools=HI)
    assert lovia("resume", "r1", "--limit", "max_tool_calls=5").out == "ok\n"


def test_r7_delete_on_success_leaves_the_session_only(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1", "--delete-on-success")
    assert (ran.code, ran.out) == (0, "hi\n")
    assert list((lovia.folder / ".lovia" / "runs").iterdir()) == []
    again = lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1", "--json").json
    assert (again["replayed"], again["output"]) == (True, "hi")
    assert lovia("run", "agent.yaml", "go", "--delete-on-success").code == 2


def test_c35_z6_a_completed_run_is_replayed_though_its_agent_file_is_gone_or_broken(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")
    lovia.write("agent.yaml", "nonsense: true")
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1").out == "hi\n"
    (lovia.folder / "agent.yaml").unlink()
    ran = lovia("resume", "r1", "--json")
    assert (ran.code, ran.json["output"], ran.json["replayed"], ran.json["model"]) == (
        0, "hi", True, "scripted:agent-script.yaml",
    )  # fmt: skip
    assert lovia("resume", "u1").out == "hi\n"


def test_z8_an_unfinished_run_whose_agent_file_is_gone_names_the_option(lovia: Lovia) -> None:
    lovia.agent([call("hi"), {"text": "ok"}], tools=HI)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "--max-steps", "1")
    (lovia.folder / "agent.yaml").rename(lovia.folder / "moved.yaml")
    refused = lovia("resume", "r1", "--max-steps", "5")
    assert refused.code == 3
    assert "lovia resume --agent FILE r1" in refused.err
    assert lovia("resume", "r1", "--agent", "moved.yaml", "--max-steps", "5").out == "ok\n"


def test_r4_a_run_known_only_by_its_segment_is_replayed_without_its_agent(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1", "--delete-on-success")
    (lovia.folder / "agent.yaml").unlink()
    ran = lovia("run", "go", "--run-id", "r1", "-s", "u1")
    assert (ran.code, ran.out) == (0, "hi\n")
