"""What the crash sweep runs: how the store gets where it is, the command that is killed, and how to go on."""

from __future__ import annotations

from dataclasses import dataclass

AGENT = "agent/agent.yaml"
STORES = {"file": ".lovia", "sqlite": "sqlite:.lovia/store.db"}
"""Where the store is, in the folder of the work, which is told in LOVIA_STORE: all of it is under .lovia."""

EARLIER = f"lovia run {AGENT} hello --session s --run-id r0 -q"
UNFINISHED = f"{EARLIER} && {{ DIE=1 lovia run {AGENT} go --session s --run-id r1 -q; test $? = 137; }}"
"""A session with one finished run, and a run that was killed in its second step, before its tool had an effect."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One command under crash.

    ``recover`` are the commands any one of which must bring the run to its end. ``runs`` are the ids of the
    session's segments then; None: the ids are generated, and every run that was begun has its segment.
    ``steered`` is a text that the transcript of r1 must hold once. ``finish`` is how the last run ends. ``begun`` is
    how often the run is begun from its start. ``forks``: f1 is a fork of r1 at step 1, made by the command or by then.
    """

    name: str
    run: str
    recover: tuple[str, ...]
    setup: str = ""
    runs: tuple[str, ...] | None = ("r1",)
    steered: str | None = None
    finish: str = "stop"
    begun: int = 1
    forks: bool = False


_FRESH = f"lovia run {AGENT} go --session s --run-id r1 -o ndjson"
_RESUME = f"lovia resume r1 --agent {AGENT} -o ndjson"
_KEYLESS = f"lovia run {AGENT} go --session s"
_QUEUE = f"lovia run {AGENT} 'and then?' --session s -o ndjson"
_FINALIZE = "lovia runs finalize r1"
_RESTART = f"lovia run {AGENT} go --session s --run-id r1 --if-run-exists restart -o ndjson"
_SOURCE = f"{EARLIER} && lovia run {AGENT} go --session s --run-id r1 -q"
_FORK = "lovia fork r1 --from-step 1 --new-id f1"
_ORPHAN = "lovia rm session:s -y"

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("fresh", _FRESH, (_FRESH, _RESUME)),
        Scenario("again", _FRESH.replace("r1", "r2"), (_FRESH.replace("r1", "r2"),), EARLIER, runs=("r0", "r2")),
        Scenario("keyless", _KEYLESS, (_KEYLESS,), runs=None),
        Scenario("resume", _RESUME, (_RESUME, _FRESH), UNFINISHED, runs=("r0", "r1")),
        Scenario("queue", _QUEUE, (_QUEUE,), UNFINISHED, runs=None, steered="and then?"),
        Scenario("finalize", _FINALIZE, (_FINALIZE,), UNFINISHED, runs=("r0", "r1"), finish="finalized"),
        Scenario("restart", _RESTART, (_FRESH,), UNFINISHED, runs=("r0", "r1"), begun=2),
        Scenario("fork", _FORK, (_FORK,), _SOURCE, forks=True),
        Scenario("orphan", _ORPHAN, (_ORPHAN,), f"{_SOURCE} && {_FORK}", forks=True),
    )
}
