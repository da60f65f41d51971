"""``lovia completion``: the script that teaches a shell to complete lovia's words, ids among them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from lovia_cli.cli.answers import Answer, Document
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument
from lovia_cli.errors import UserError

SHELLS = ("bash", "zsh", "fish")
SCRIPTS = Path(__file__).parents[2] / "completions"


def completion(
    call: Call,  # noqa: ARG001 - every command has one
    shell: Annotated[str, Argument(metavar="|".join(SHELLS), help="The shell to print it for.")],
) -> Answer:
    """Print a script that completes commands, options, and the ids of runs and sessions.

    bash: eval "$(lovia completion bash)" in ~/.bashrc. zsh: the same with zsh in ~/.zshrc, after compinit.
    fish: lovia completion fish | source in config.fish.
    """
    if shell not in SHELLS:
        raise UserError(f"there is no completion for {shell!r}", hint="use one of: " + ", ".join(SHELLS))
    script = (SCRIPTS / f"lovia.{shell}").read_text(encoding="utf-8")
    return Document(text=script.removesuffix("\n"), data={"v": 1, "shell": shell, "script": script})


COMMAND = completion
