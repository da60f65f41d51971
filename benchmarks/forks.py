"""What a fork costs at different steps of one long run: the same, if nothing of it is copied.

    python benchmarks/forks.py [STEPS] [--repeat N]

Writes a run of STEPS steps (5,000) of two saves, 1 KB an entry, into a file store, and forks it at step 10, in its
middle and at its end, in turn: as it was, with an input appended, and with the result of a call of that step replaced,
named by its place. Prints milliseconds, the best of N, and the ratio to step 10. The folder is made where it is run.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from lovia_cli.engine.patching import Patch
from lovia_cli.engine.runner import Runner
from stores.entries import Entry, InputEntry, ToolCallEntry, ToolResultEntry
from stores.file import FileStore
from stores.records import Save

PAYLOAD = "x" * 950


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=int, nargs="?", default=5000)
    parser.add_argument("--repeat", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lovia-forks-", dir=Path.cwd()) as folder:
        store = FileStore(Path(folder, ".lovia"))
        await write(store, given.steps)
        steps = [10, given.steps // 2, given.steps]
        print(f"fork at step{'':22}" + "".join(f"{step:>20,}" for step in steps))
        kinds: dict[str, Any] = {
            "as it was": lambda _: Patch(),
            "with an input": lambda _: Patch(append_input="and?"),
            "with another result": lambda step: Patch(tool_results={f"{step}.1": "other"}),
        }
        for name, patch in kinds.items():
            best = [float("inf")] * len(steps)
            for number in range(given.repeat):
                for index, step in enumerate(steps):
                    best[index] = min(best[index], await fork(store, step, patch(step), f"{name} {step} {number}"))
            cells = [f"{seconds * 1000:8.2f} ms ({seconds / best[0]:4.2f})" for seconds in best]
            print(f"{name:34}" + "".join(f"{cell:>20}" for cell in cells))


async def write(store: FileStore, steps: int) -> None:
    """A run as a loop would write it, but for the model."""
    async with store.checkpointer.lease("long") as lease:
        number = 0

        async def save(event: str, step: int, entry: Entry, **head: Any) -> None:
            nonlocal number
            number += 1
            await lease.save(Save(number=number, step=step, at=1.0, event=event, entries=[entry], head=head))

        await save(
            "started", 0, InputEntry(text="go"), status="running", agent="bench", config={"agent_file": "a.yaml"}
        )
        for step in range(1, steps + 1):
            call = ToolCallEntry(id="call", name="look", arguments=f'{{"x":"{PAYLOAD}"}}', step=step, position=1)
            result = ToolResultEntry(call_id="call", output=PAYLOAD, step=step, position=1)
            await save("response", step, call, usage={"requests": step}, responses={"bench": step})
            await save("result", step, result, tool_calls=step)


async def fork(store: FileStore, step: int, patch: Patch, new_id: str) -> float:
    """Seconds for one fork at that step."""
    began = time.perf_counter()
    await Runner.fork("long", from_step=step, patch=patch, new_id=new_id, checkpointer=store.checkpointer)
    return time.perf_counter() - began


if __name__ == "__main__":
    asyncio.run(main())
