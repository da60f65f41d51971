"""The automatic tool that gives back a tool output which a trim or the result archive has cut short (M2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lovia_cli.models.base import ToolSpec
from lovia_cli.tools.base import ToolArgumentsError, ToolContext, ToolError
from lovia_cli.tools.definition import OnResume
from stores.entries import JSON, Entry, ToolResultEntry, pair
from stores.errors import StoreError
from stores.protocols import ResultStore
from stores.references import ResultRef, results_of
from stores.surgery import is_whole_of

NAME = "recall_tool_result"

Runs = Callable[[], Iterable[tuple[str, Sequence[Entry]]]]
"""Every run of the conversation with its entries, newest first: the run itself, then the session's."""


class RecallTool:
    """A `Tool`. It reaches the results of its own conversation, and no others of the store."""

    spec = ToolSpec(
        name=NAME,
        description="Give back the whole output of an earlier tool call that was cut short.",
        parameters={
            "type": "object",
            "properties": {
                "reference": {
                    "type": "string",
                    "description": "RUN/STEP.POSITION, as the cut output names it; or a call's id: its newest result.",
                }
            },
            "required": ["reference"],
            "additionalProperties": False,
        },
    )
    timeout: float | None = None
    on_resume: OnResume = "rerun"

    def __init__(self, results: ResultStore, runs: Runs) -> None:
        self._results = results
        self._runs = runs

    def check(self, arguments: dict[str, JSON]) -> None:
        if set(arguments) != {"reference"} or not isinstance(arguments["reference"], str):
            raise ToolArgumentsError('give one text: {"reference": "RUN/STEP.POSITION"}')

    async def call(self, arguments: dict[str, JSON], context: ToolContext) -> str:  # noqa: ARG002 - the seam's signature
        """The output: of what was cut from the archive first, then from the transcript.

        What the archive has of another run that had the same id is not it.
        """
        reference, result = self._find(arguments["reference"])
        if result.trimmed is None:
            return result.output
        if not result.trimmed.get("archived"):  # nothing could prove that it is this one
            return _what_is_left(result)
        try:
            archived = await self._results.get(reference)
        except StoreError as error:
            where = f" ({error.where})" if error.where else ""
            raise ToolError(f"the archived output of {reference} cannot be read: {error.message}{where}") from error
        return archived if archived is not None and is_whole_of(archived, result) else _what_is_left(result)

    def _find(self, wanted: str) -> tuple[ResultRef, ToolResultEntry]:
        """The result meant by a reference, or by a call's id."""
        place = ResultRef.parse(wanted)
        for run_id, entries in self._runs():
            found = {reference: result for _, reference, result in results_of(run_id, entries)}
            if place in found:
                return place, found[place]
        for run_id, entries in self._runs():
            references = {id(result): reference for _, reference, result in results_of(run_id, entries)}
            for call, result in reversed(pair(entries)):
                if call.id == wanted and result is not None:
                    return references[id(result)], result
        raise ToolError(
            f"this conversation has no result {wanted!r}; name one as RUN/STEP.POSITION, or by its call's id"
        )


def _what_is_left(result: ToolResultEntry) -> str:
    """The part of the output that the transcript has; it says so, and promises no more."""
    trimmed = result.trimmed or {}
    kept, whole = trimmed.get("kept", 0), trimmed.get("chars", 0)
    return f"{result.output[:kept]}\n[the other {whole - kept} of {whole} characters are gone]"
