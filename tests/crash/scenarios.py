"""What the crash sweep runs: how the store gets where it is, the command that is killed, and how to go on."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

AGENT = "agent/agent.yaml"
STORES = {"file": "disk/.lovia", "sqlite": "sqlite:disk/.lovia/store.db"}
"""Where the store is, in the folder of the work, which is told in LOVIA_STORE: all of it is under disk/.lovia.

A power cut is one of `disk`. What the tools and the model note beside it is the world, which no power cut undoes.
"""

DIES = "DIE=1 "
"""In front of a command that kills itself in its second step, before its tool has an effect."""

EARLIER = f"lovia run {AGENT} hello --session s --run-id r0 -q"
UNFINISHED = (EARLIER, f"{DIES}lovia run {AGENT} go --session s --run-id r1 -q")
"""A session with one finished run, and a run that was killed in its second step, before its tool had an effect."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One command under crash.

    ``recover`` are the commands any one of which must bring the run to its end. ``runs`` are the ids of the
    session's segments then; None: the ids are generated, and every run that was begun has its segment.
    ``steered`` is a text that the transcript of r1 must hold once. ``finish`` is how the last run ends. ``begun`` is
    how often the run is begun from its start, ``killed`` how often it kills itself on the way. ``only`` is the kind of
    store that it is about. ``check`` names what is compared, a function of verify.CHECKS.
    """

    name: str
    run: str
    recover: tuple[str, ...]
    setup: tuple[str, ...] = ()
    runs: tuple[str, ...] | None = ("r1",)
    steered: str | None = None
    finish: str = "stop"
    begun: int = 1
    killed: int = 0
    only: str | None = None
    check: str = "run"


_FRESH = f"lovia run {AGENT} go --session s --run-id r1 -o ndjson"
_TWICE = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).with_name('twice.py')))} runs {_FRESH}"
_RESUME = f"lovia resume r1 --agent {AGENT} -o ndjson"
_KEYLESS = f"lovia run {AGENT} go --session s"
_QUEUE = f"lovia run {AGENT} 'and then?' --session s -o ndjson"
_FINALIZE = "lovia runs finalize r1"
_RESTART = f"lovia run {AGENT} go --session s --run-id r1 --if-run-exists restart -o ndjson"
_SOURCE = (EARLIER, f"lovia run {AGENT} go --session s --run-id r1 -q")
_FORK = "lovia fork r1 --from-step 1 --new-id f1"
_ORPHAN = "lovia rm session:s -y"
_THREE = (*_SOURCE, f"lovia run {AGENT} on --session s --run-id r2 -q")
_TRIM = "lovia trim s --keep-chars 40 --keep-runs 0 -y"
# Six of the eleven entries of r1 are to stay: four of them can, and r2 goes whole.
_REWIND = "lovia rewind s --keep-entries 17 -y"
_BESIDE = (*UNFINISHED, _TRIM, f"lovia run {AGENT} hello --session t --run-id t0 -q")
_RM_RUN = "lovia rm run:r1 -y"
_DELETE = f"{_FRESH} --delete-on-success"
_LEAVE = f"{_RESUME} --delete-on-success"

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("fresh", _FRESH, (_FRESH, _RESUME)),
        Scenario("twice", _TWICE, (_FRESH, _RESUME), killed=1, only="file"),
        Scenario("again", _FRESH.replace("r1", "r2"), (_FRESH.replace("r1", "r2"),), (EARLIER,), runs=("r0", "r2")),
        Scenario("keyless", _KEYLESS, (_KEYLESS,), runs=None),
        Scenario("resume", _RESUME, (_RESUME, _FRESH), UNFINISHED, runs=("r0", "r1")),
        Scenario("queue", _QUEUE, (_QUEUE,), UNFINISHED, runs=None, steered="and then?"),
        Scenario("finalize", _FINALIZE, (_FINALIZE,), UNFINISHED, runs=("r0", "r1"), finish="finalized"),
        Scenario("restart", _RESTART, (_FRESH,), UNFINISHED, runs=("r0", "r1"), begun=2),
        Scenario("fork", _FORK, (_FORK,), _SOURCE, check="fork"),
        Scenario("orphan", _ORPHAN, (_ORPHAN,), (*_SOURCE, _FORK), check="fork"),
        Scenario("rewind", _REWIND, (_REWIND,), (*_THREE, _TRIM), check="rewind"),
        Scenario("trim", _TRIM, (_TRIM,), _THREE, check="trim"),
        Scenario("rm-run", _RM_RUN, (_RM_RUN,), _BESIDE, check="rm"),
        Scenario("rm-session", _ORPHAN, (_ORPHAN,), _BESIDE, check="rm"),
        Scenario("delete-on-success", _DELETE, (_DELETE, _LEAVE), (EARLIER,), runs=("r0", "r1"), check="delete"),
    )
}
