"""Records to hand on, generated and by hand."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from stores.entries import (
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
)
from stores.records import RunHead, RunSnapshot

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
json_values: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, json_values, max_size=3)
extras = st.dictionaries(st.text("xyz", min_size=3, max_size=5), json_values, max_size=2)
providers = st.none() | objects


@st.composite
def steps(draw: st.DrawFn, step: int, *, is_last: bool) -> list[Entry]:
    """One response with its results, and perhaps what was said after it."""
    said: list[Entry] = [
        draw(
            st.sampled_from([ReasoningEntry, AssistantTextEntry]).flatmap(
                lambda cls: st.builds(cls, text=texts, step=st.just(step), provider=providers, extra=extras)
            )
        )
    ]
    ids = draw(st.lists(st.sampled_from(["c1", "c2", ""]), max_size=3))
    for position, call_id in enumerate(ids, 1):
        said.append(
            ToolCallEntry(
                id=call_id,
                name=draw(texts),
                arguments=draw(texts),
                step=step,
                position=position,
                provider=draw(providers),
            )
        )
    answered = draw(st.integers(0, len(ids))) if is_last else len(ids)
    for position, call_id in list(enumerate(ids, 1))[:answered]:
        kind = draw(st.sampled_from(["ok", "error", "cancelled", "rejected"]))
        said.append(
            ToolResultEntry(
                call_id=call_id, output=draw(texts), step=step, position=position, is_error=kind != "ok", kind=kind
            )
        )
    return said


@st.composite
def runs(draw: st.DrawFn) -> RunSnapshot:
    """A run as a store would give it."""
    count = draw(st.integers(0, 3))
    entries: list[Entry] = [InputEntry(text=draw(texts), parts=draw(st.lists(objects, max_size=1)), extra=draw(extras))]
    for step in range(1, count + 1):
        entries += draw(steps(step, is_last=step == count))
    head = RunHead(
        agent=draw(texts),
        status=draw(st.sampled_from(["completed", "interrupted", "failed"])),
        started_at=draw(st.none() | st.floats(0, 2e9)),
        updated_at=draw(st.floats(0, 2e9)),
        steps=count,
        usage={"input_tokens": draw(st.none() | st.integers(0, 9)), "requests": count},
        output=draw(json_values),
        state=draw(objects),
        started_calls=draw(st.lists(texts, max_size=2)),
        config=draw(objects),
        extra={"brand_new": draw(json_values)},
    )
    return RunSnapshot(run_id=draw(st.sampled_from(["r", "ключ", "a/b:c"])), head=head, entries=entries)
