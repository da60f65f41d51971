"""``lovia validate``: every mistake of agent files at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lovia_cli.cli.answers import Answer, Checked
from lovia_cli.cli.options import Call
from lovia_cli.errors import AgentFileError
from lovia_cli.exits import Exit


def validate(
    call: Call,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Agent files.")],
) -> Answer:
    """Check agent files: all that is wrong in them, with line and column. Runs nothing."""
    call.streams.take()
    findings = [finding for file in files for finding in _check(file)]
    bad = {finding["file"] for finding in findings}
    good = [file for file in files if file not in bad]
    return Checked(
        summary="" if bad and not good else f"valid: {', '.join(good)}",
        findings=findings,
        data={"valid": not bad, "files": [{"file": file, "valid": file not in bad} for file in files]},
        exit_code=Exit.AGENT if bad else Exit.OK,
    )


COMMAND = validate


def _check(file: str) -> list[dict[str, Any]]:
    from lovia_cli.wiring import check_agent

    try:
        check_agent(Path(file))
    except AgentFileError as error:
        return [
            {
                "file": file,
                "where": problem.where,
                "line": problem.line,
                "column": problem.column,
                "message": problem.message,
                "hint": problem.hint,
            }
            for problem in error.problems
        ] or [{"file": file, "where": error.where or file, "message": error.message, "hint": error.hint}]
    return []
