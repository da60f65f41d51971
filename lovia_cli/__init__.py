"""Durable LLM agents from YAML: a run survives a crash, a kill, a full disk, a restart.

Everything that a program needs is here: ``from lovia_cli import Agent, Runner, SQLiteSession``. Each name is loaded
when it is first asked for, so that importing the package costs nothing. ``docs/python.md`` shows them at work.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own is as true to a type checker, and its import is most of what this one would cost
if TYPE_CHECKING:
    from lovia_cli.agent import Agent as Agent
    from lovia_cli.agent import Limits as Limits
    from lovia_cli.comparing import Comparison as Comparison
    from lovia_cli.comparing import Trajectory as Trajectory
    from lovia_cli.comparing import compare_trajectories as compare_trajectories
    from lovia_cli.engine.events import Event as Event
    from lovia_cli.engine.forking import Forked as Forked
    from lovia_cli.engine.kept import KeptSave as KeptSave
    from lovia_cli.engine.kept import get_checkpoint_history as get_checkpoint_history
    from lovia_cli.engine.options import CheckpointOptions as CheckpointOptions
    from lovia_cli.engine.options import RunResult as RunResult
    from lovia_cli.engine.options import StopSwitch as StopSwitch
    from lovia_cli.engine.patching import Patch as Patch
    from lovia_cli.engine.preview import Preview as Preview
    from lovia_cli.engine.retracing import Difference as Difference
    from lovia_cli.engine.retracing import Retrace as Retrace
    from lovia_cli.engine.runner import Runner as Runner
    from lovia_cli.engine.transfer import export_run as export_run
    from lovia_cli.engine.transfer import import_run as import_run
    from lovia_cli.engine.transfer import import_session as import_session
    from lovia_cli.errors import AgentDriftError as AgentDriftError
    from lovia_cli.errors import AgentFileError as AgentFileError
    from lovia_cli.errors import CallNotFoundError as CallNotFoundError
    from lovia_cli.errors import CancelRequested as CancelRequested
    from lovia_cli.errors import CheckpointNotFoundError as CheckpointNotFoundError
    from lovia_cli.errors import ConflictError as ConflictError
    from lovia_cli.errors import CredentialsError as CredentialsError
    from lovia_cli.errors import GuardrailTripped as GuardrailTripped
    from lovia_cli.errors import HookError as HookError
    from lovia_cli.errors import InvalidOutputError as InvalidOutputError
    from lovia_cli.errors import LimitReached as LimitReached
    from lovia_cli.errors import LoviaError as LoviaError
    from lovia_cli.errors import OutputNotStoredError as OutputNotStoredError
    from lovia_cli.errors import ProviderError as ProviderError
    from lovia_cli.errors import ResumeToolMissingError as ResumeToolMissingError
    from lovia_cli.errors import RunExistsError as RunExistsError
    from lovia_cli.errors import RunLockedError as RunLockedError
    from lovia_cli.errors import RunNotFoundError as RunNotFoundError
    from lovia_cli.errors import ScriptError as ScriptError
    from lovia_cli.errors import SegmentDiffersError as SegmentDiffersError
    from lovia_cli.errors import SessionNotFoundError as SessionNotFoundError
    from lovia_cli.errors import SignalReceived as SignalReceived
    from lovia_cli.errors import Stopped as Stopped
    from lovia_cli.errors import StoreBusyError as StoreBusyError
    from lovia_cli.errors import StoreDamagedError as StoreDamagedError
    from lovia_cli.errors import StoreError as StoreError
    from lovia_cli.errors import StoreUnreadableError as StoreUnreadableError
    from lovia_cli.errors import StoreVersionError as StoreVersionError
    from lovia_cli.errors import StoreWriteError as StoreWriteError
    from lovia_cli.errors import TimedOut as TimedOut
    from lovia_cli.errors import UserError as UserError
    from lovia_cli.hooks import AgentHooks as AgentHooks
    from lovia_cli.hooks import Guardrail as Guardrail
    from lovia_cli.hooks import RunContext as RunContext
    from lovia_cli.models.anthropic import AnthropicModel as AnthropicModel
    from lovia_cli.models.base import Model as Model
    from lovia_cli.models.base import ModelRequest as ModelRequest
    from lovia_cli.models.base import ModelResponse as ModelResponse
    from lovia_cli.models.base import ReasoningDelta as ReasoningDelta
    from lovia_cli.models.base import TextDelta as TextDelta
    from lovia_cli.models.base import ToolSpec as ToolSpec
    from lovia_cli.models.fallback import FallbackModel as FallbackModel
    from lovia_cli.models.openai import OpenAIModel as OpenAIModel
    from lovia_cli.models.scripted import ScriptedModel as ScriptedModel
    from lovia_cli.tools.base import Tool as Tool
    from lovia_cli.tools.base import ToolArgumentsError as ToolArgumentsError
    from lovia_cli.tools.base import ToolContext as ToolContext
    from lovia_cli.tools.base import ToolError as ToolError
    from lovia_cli.tools.python import python_tool as python_tool
    from lovia_cli.tools.python import tool as tool
    from lovia_cli.wiring import load_agent as load_agent
    from stores.entries import AssistantTextEntry as AssistantTextEntry
    from stores.entries import Entry as Entry
    from stores.entries import InputEntry as InputEntry
    from stores.entries import ReasoningEntry as ReasoningEntry
    from stores.entries import ToolCallEntry as ToolCallEntry
    from stores.entries import ToolResultEntry as ToolResultEntry
    from stores.entries import drop_dangling_tool_calls as drop_dangling_tool_calls
    from stores.exchange import SessionRecord as SessionRecord
    from stores.exchange import read_export as read_export
    from stores.exchange import write_export as write_export
    from stores.file import FileCheckpointer as FileCheckpointer
    from stores.file import FileResultStore as FileResultStore
    from stores.file import FileSession as FileSession
    from stores.file import FileStore as FileStore
    from stores.memory import InMemoryCheckpointer as InMemoryCheckpointer
    from stores.memory import InMemoryResultStore as InMemoryResultStore
    from stores.memory import InMemorySession as InMemorySession
    from stores.protocols import Checkpointer as Checkpointer
    from stores.protocols import ResultStore as ResultStore
    from stores.protocols import Session as Session
    from stores.records import RunHead as RunHead
    from stores.records import RunSnapshot as RunSnapshot
    from stores.records import Segment as Segment
    from stores.records import Status as Status
    from stores.records import Usage as Usage
    from stores.sqlite import SQLiteCheckpointer as SQLiteCheckpointer
    from stores.sqlite import SQLiteResultStore as SQLiteResultStore
    from stores.sqlite import SQLiteSession as SQLiteSession
    from stores.sqlite import SQLiteStore as SQLiteStore

__version__ = "0.1.0"

_FACE = {
    "lovia_cli.agent": "Agent Limits",
    "lovia_cli.comparing": "Comparison Trajectory compare_trajectories",
    "lovia_cli.engine.events": "Event",
    "lovia_cli.engine.forking": "Forked",
    "lovia_cli.engine.transfer": "export_run import_run import_session",
    "lovia_cli.engine.kept": "KeptSave get_checkpoint_history",
    "lovia_cli.engine.options": "CheckpointOptions RunResult StopSwitch",
    "lovia_cli.engine.patching": "Patch",
    "lovia_cli.engine.preview": "Preview",
    "lovia_cli.engine.retracing": "Difference Retrace",
    "lovia_cli.engine.runner": "Runner",
    "lovia_cli.errors": """
        AgentDriftError AgentFileError CallNotFoundError CancelRequested CheckpointNotFoundError ConflictError
        CredentialsError GuardrailTripped HookError InvalidOutputError LimitReached LoviaError OutputNotStoredError
        ProviderError ResumeToolMissingError RunExistsError RunLockedError RunNotFoundError ScriptError
        SegmentDiffersError SessionNotFoundError SignalReceived Stopped StoreBusyError StoreDamagedError StoreError
        StoreUnreadableError StoreVersionError StoreWriteError TimedOut UserError""",
    "lovia_cli.hooks": "AgentHooks Guardrail RunContext",
    "lovia_cli.models.anthropic": "AnthropicModel",
    "lovia_cli.models.base": "Model ModelRequest ModelResponse ReasoningDelta TextDelta ToolSpec",
    "lovia_cli.models.fallback": "FallbackModel",
    "lovia_cli.models.openai": "OpenAIModel",
    "lovia_cli.models.scripted": "ScriptedModel",
    "lovia_cli.tools.base": "Tool ToolArgumentsError ToolContext ToolError",
    "lovia_cli.tools.python": "python_tool tool",
    "lovia_cli.wiring": "load_agent",
    "stores.entries": """
        AssistantTextEntry Entry InputEntry ReasoningEntry ToolCallEntry ToolResultEntry drop_dangling_tool_calls""",
    "stores.exchange": "SessionRecord read_export write_export",
    "stores.file": "FileCheckpointer FileResultStore FileSession FileStore",
    "stores.memory": "InMemoryCheckpointer InMemoryResultStore InMemorySession",
    "stores.protocols": "Checkpointer ResultStore Session",
    "stores.records": "RunHead RunSnapshot Segment Status Usage",
    "stores.sqlite": "SQLiteCheckpointer SQLiteResultStore SQLiteSession SQLiteStore",
}
"""The public names by the module that has them. A type checker reads the imports above; a test keeps both alike."""

_PLACES = {name: module for module, names in _FACE.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted([*_PLACES, "__version__"])
