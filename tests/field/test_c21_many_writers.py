"""C21: twenty processes in one session at once."""

from collections import Counter

from tests.cli.lovia import Lovia, end

MANY = 20


def test_c21_every_run_is_one_whole_segment(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    started = [
        lovia.start("run", "agent.yaml", f"m{number}", "--session", "u1", "--run-id", f"r{number}")
        for number in range(MANY)
    ]
    ended = [end(process) for process in started]
    won = [number for number, ran in enumerate(ended) if ran.code == 0]
    assert {ran.code for ran in ended} <= {0, 6}, ended
    assert won

    entries = lovia("show", "session:u1", "--json").json["entries"]
    assert Counter(entry["run_id"] for entry in entries) == {f"r{number}": 2 for number in won}
    pairs = zip(entries[::2], entries[1::2], strict=True)
    assert all(
        (asked["run_id"], asked["text"], answer["text"]) == (answer["run_id"], "m" + asked["run_id"][1:], "hi")
        for asked, answer in pairs
    )
    assert [segment["n"] for segment in lovia("history", "u1", "--json").json["segments"]] == [
        number + 1 for number in range(len(won))
    ]


def test_k4_without_a_run_id_one_wins_and_the_others_are_told(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi", "delay": 1}])
    ended = [end(process) for process in [lovia.start("run", "agent.yaml", "go", "--session", "u1") for _ in range(6)]]
    assert {ran.code for ran in ended} <= {0, 6}, ended
    refused = [ran for ran in ended if ran.code == 6]
    assert all("being executed by process" in ran.err for ran in refused)
    found = lovia("history", "u1", "--json").json
    assert (len(found["segments"]), found["unfinished"]) == (len(ended) - len(refused), [])
