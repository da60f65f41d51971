"""What commands return: data with an exit code. How it looks is for ``lovia_cli.render`` to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lovia_cli import exits
from stores.errors import LoviaError

if TYPE_CHECKING:
    from lovia_cli.engine.options import RunResult
    from lovia_cli.settings import StoreLocation

Row = dict[str, Any]


class Answer(Protocol):
    """``as_json`` is the object of ``-o json``; ``rows`` the lines of ``-o ndjson``, None for a run's events."""

    @property
    def exit_code(self) -> int: ...
    def as_json(self) -> Row: ...
    def rows(self) -> Iterable[Row] | None: ...


@dataclass(slots=True, kw_only=True)
class RunAnswer:
    """How a run ended, or why a command could not do what it was asked.

    ``go_on`` is the command that resumes the run, where it can be resumed; ``next`` the one that comes to mind when
    it is completed. ``is_run`` is False for the commands
    that execute none: their failures have the same JSON object, but no events.
    """

    store: str | None
    result: RunResult | None = None
    error: BaseException | None = None
    run_id: str | None = None
    session_id: str | None = None
    agent: str | None = None
    go_on: str | None = None
    next: str | None = None
    is_run: bool = True
    hide: Callable[[str], str] = str
    """What the text of an error passes before it is shown: the view sets it, to take secrets out."""
    location: StoreLocation | None = None
    """The store as it was named, for the commands that a hint advises: the view sets it."""

    @property
    def exit_code(self) -> int:
        if self.error is not None:
            return exits.of_error(self.error)
        return exits.of_result(self.result) if self.result else exits.Exit.OK

    @property
    def problem(self) -> LoviaError | None:
        """What went wrong, if anything did, and always what to do; an error that is none of ours is an internal one."""
        error = self.error or (self.result.error if self.result else None)
        if error is None:
            return None
        from lovia_cli.cli.presentable import presentable

        shown = presentable(error, self.hide)
        if not shown.hint and shown.code == "provider" and not shown.retryable:
            shown.hint = "mend what was refused first: the same request would be refused again"
        if not shown.hint and not self.go_on:
            shown.hint = _HINTS.get(self.exit_code, _HINTS[exits.Exit.FAILED])
        if shown.hint and self.location:
            from lovia_cli.cli.advice import in_same_store

            shown.hint = in_same_store(shown.hint, self.location)
        return shown

    def as_json(self) -> Row:
        result, problem = self.result, self.problem
        error = problem.as_json() if problem else None
        if error and self.go_on:
            error["hint"] = error["hint"] or f"go on with: {self.go_on}"
        head = result.snapshot.head if result and result.snapshot else None
        return {
            "v": 1,
            "run_id": result.run_id if result else self.run_id,
            "session_id": result.session_id if result else self.session_id,
            "status": result.status if result else None,
            "exit_code": self.exit_code,
            "output": result.output if result else None,
            "error": error,
            "approvals": result.approvals if result else [],
            "steps": result.steps if result else None,
            "usage": result.usage.as_json() if result else None,
            "cost_usd": result.cost_usd if result else None,
            "model": (result.model or None) if result else None,
            "agent": (result.final_agent or self.agent) if result else self.agent,
            "replayed": bool(result and result.replayed),
            "input_ignored": bool(result and result.input_ignored),
            "forked_from": head.parent if head else None,
            "store": self.store,
        }

    def rows(self) -> Iterable[Row] | None:
        return None if self.is_run else [self.as_json()]


_HINTS: dict[int, str] = {
    exits.Exit.FAILED: "see more with --debug",
    exits.Exit.USAGE: "see the command's --help",
    exits.Exit.AGENT: "mend the file, and check it with: lovia validate FILE",
    exits.Exit.NOT_FOUND: "see what there is: lovia history",
    exits.Exit.CONFLICT: "see how it stands: lovia history",
    exits.Exit.STORE: "check the store with: lovia doctor",
    exits.Exit.INT: "nothing is lost: run the same command again",
}
"""What to do where the error itself does not say, by exit code."""


@dataclass(slots=True, kw_only=True)
class Told:
    """One sentence about what was done, and the same as data."""

    message: str
    data: Row = field(default_factory=dict)
    to_stderr: bool = False
    exit_code: int = exits.Exit.OK

    def as_json(self) -> Row:
        return {"v": 1, "exit_code": self.exit_code, **self.data}

    def rows(self) -> Iterable[Row]:
        return [self.as_json()]


@dataclass(slots=True, kw_only=True)
class Document:
    """A text to be kept in a file, and the same as data; ``lines`` where it has more than one object."""

    text: str
    data: Row
    lines: list[Row] | None = None
    exit_code: int = exits.Exit.OK

    def as_json(self) -> Row:
        return self.data

    def rows(self) -> Iterable[Row]:
        return [self.data] if self.lines is None else self.lines


@dataclass(slots=True, kw_only=True)
class Checked:
    """What was checked, file by file or record by record: ``findings`` says what is wrong, ``done`` what was mended."""

    summary: str
    findings: list[Row]
    data: Row = field(default_factory=dict)
    exit_code: int = exits.Exit.OK

    def as_json(self) -> Row:
        return {"v": 1, "exit_code": self.exit_code, **self.data, "findings": self.findings}

    def rows(self) -> Iterable[Row]:
        yield from ({"v": 1, "kind": "finding", **finding} for finding in self.findings)
        yield {"v": 1, "kind": "summary", "exit_code": self.exit_code, **self.data}
