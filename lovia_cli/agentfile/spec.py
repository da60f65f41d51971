"""An agent file that has been read and found valid: pure data, with the place of every value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lovia_cli.agentfile.instructions import Instructions, read_instructions
from lovia_cli.models.registry import ProviderSpec
from lovia_cli.models.spec import ModelSpec
from lovia_cli.yamlfile.reader import Document, read_document
from lovia_cli.yamlfile.validate import validate

if TYPE_CHECKING:
    from lovia_cli.agentfile.schema import AgentFile


@dataclass(slots=True, frozen=True, kw_only=True)
class AgentSpec:
    """What the file at ``path`` (absolute) says. `lovia_cli.agentfile.build_agent` makes the agent of it."""

    path: Path
    file: AgentFile
    document: Document
    instructions: Instructions

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def folder(self) -> Path:
        """Where relative paths of the file start."""
        return self.path.parent

    @property
    def model(self) -> ModelSpec:
        return ModelSpec(**dict(self.file.model))

    @property
    def fallback(self) -> list[ModelSpec]:
        return [ModelSpec(**dict(model)) for model in self.file.fallback]

    @property
    def providers(self) -> dict[str, ProviderSpec]:
        """The file's own names for providers."""
        return {name: ProviderSpec(**dict(row)) for name, row in self.file.providers.items()}

    def environment_names(self) -> list[str]:
        """The environment variables that the file names, sorted. Only names are ever stored."""
        from lovia_cli.agentfile.schema import ShellTool

        names = {model.api_key_env for model in (self.file.model, *self.file.fallback)}
        names |= {provider.api_key_env for provider in self.file.providers.values()}
        for tool in self.file.tools:
            if isinstance(tool, ShellTool):
                names |= {name for value in tool.env.values() for name in environment_names(value)}
        return sorted(name for name in names if name)


def load_agent_file(path: str | Path) -> AgentSpec:
    """Read and check an agent file. Runs nothing of it and looks at no environment variable.

    Raises `lovia_cli.errors.AgentFileError` with all that is wrong: file, line, column, and a near match.
    """
    from lovia_cli.agentfile.schema import AgentFile

    document = read_document(Path(path), shown_as=str(path))
    file = validate(AgentFile, document)
    place = Path(path).absolute()
    instructions = read_instructions(file, document, place.parent)
    return AgentSpec(path=place, file=file, document=document, instructions=instructions)


def environment_names(value: str) -> list[str]:
    """The NAMEs of each ``${env.NAME}`` in a text that the schema has accepted."""
    from lovia_cli.agentfile.values import PLACEHOLDER

    return [inner.removeprefix("env.") for inner in PLACEHOLDER.findall(value)]
