"""Which model is meant: the part of an agent file, or of ``--model``, that names one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stores.errors import UserError

if TYPE_CHECKING:
    from lovia_cli.models.base import Model


@dataclass(slots=True, frozen=True)
class ModelSpec:
    """A provider's name and the model's name there. The key itself is never part of it, only where it is found."""

    provider: str
    name: str
    base_url: str | None = None
    api_key_env: str | None = None

    @staticmethod
    def parse(text: str) -> ModelSpec:
        """``provider:name`` as on a command line; the name may hold more colons. Raises `UserError`."""
        provider, colon, name = text.partition(":")
        if not colon or not provider.strip() or not name.strip():
            raise UserError(f"a model is written provider:name, not {text!r}", hint="such as scripted:script.yaml")
        return ModelSpec(provider, name)


ModelFactory = Callable[[ModelSpec, Path], "Model"]
"""Builds the model of a spec; relative paths in it start at the folder, which is the agent file's."""
