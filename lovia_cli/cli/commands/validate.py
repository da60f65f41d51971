"""``lovia validate``: every mistake of agent files at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from lovia_cli.cli.answers import Answer, Checked
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument
from lovia_cli.errors import AgentFileError, Problem
from lovia_cli.exits import Exit


def validate(
    call: Call,
    files: Annotated[list[str], Argument(metavar="FILE...", help="Agent files.")],
) -> Answer:
    """Check agent files: all that is wrong in them, with line and column. Asks no model and runs no tool.

    The tools' modules are imported. Variables and the environment are the run's to give. With -o github, the
    mistakes are annotations of a workflow.
    """
    call.streams.take()
    wrong = {file: problems for file in dict.fromkeys(files) if (problems := _check(call, file))}
    good = [file for file in files if file not in wrong]
    return Checked(
        summary=f"valid: {', '.join(good)}" if good else "",
        findings=[_row(file, problem) for file, problems in wrong.items() for problem in problems],
        data={"valid": not wrong, "files": [{"file": file, "valid": file not in wrong} for file in files]},
        exit_code=Exit.AGENT if wrong else Exit.OK,
    )


COMMAND = validate


def _check(call: Call, file: str) -> list[Problem]:
    """What is wrong with an agent file, and with the files that it names."""
    from lovia_cli.wiring import check_agent

    try:
        check_agent(Path(file), learn=call.secrets.learn)
    except AgentFileError as error:
        return list(error.problems) or [Problem(error.message, error.where or file, hint=error.hint)]
    return []


def _row(agent_file: str, problem: Problem) -> dict[str, Any]:
    """A problem as data: ``file`` is where it stands, which may be the script or the text that the agent file names."""
    return {
        "agent_file": agent_file,
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "where": problem.where,
        "message": problem.message,
        "hint": problem.hint,
    }
