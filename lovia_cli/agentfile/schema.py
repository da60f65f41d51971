"""The agent file as pydantic models: what they accept is what runs, and `json_schema` is made from them.

Importing this module loads pydantic. Its annotations are no text (``from __future__ import annotations``): pydantic
would have to compile each of them.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainValidator, Tag

from lovia_cli.agentfile import later
from lovia_cli.agentfile.values import (
    argument_schema,
    argv_or_line,
    command_text,
    environment_value,
    function_reference,
    identifier,
    model_reference,
    parameter_default,
    parameter_enum,
    resume_policy,
    tool_mapping,
    tool_name,
    version_number,
    visible,
)
from lovia_cli.tools.definition import DEFAULT_TIMEOUT
from lovia_cli.yamlfile.fields import (
    Boolean,
    Count,
    CountOrZero,
    JsonObject,
    Nullable,
    Seconds,
    Strict,
    Text,
    empty_dict,
    empty_list,
)

Timeout = Annotated[Seconds | None, Nullable]
OnResume = Annotated[Literal["rerun", "fail"], BeforeValidator(resume_policy)]
CommandText = Annotated[Text, AfterValidator(command_text)]
FunctionReference = Annotated[Text, AfterValidator(function_reference)]


class ModelReference(Strict):
    """A model, spelled out."""

    noun: ClassVar[str] = "model"

    provider: Text
    name: Text
    base_url: Text | None = None
    """Where the provider's API is, if not at its usual address."""
    api_key_env: Text | None = None
    """The environment variable that holds the key."""


class Provider(Strict):
    """A further name for the part of a model before the colon: a server and the wire it speaks."""

    noun: ClassVar[str] = "a provider"

    type: Literal["openai", "anthropic"]
    """``openai``: chat completions, as most servers speak them. ``anthropic``: messages."""
    base_url: Text | None = None
    api_key_env: Text | None = None
    """The environment variable that holds the key; without one a server with a ``base_url`` is asked without."""
    stream: Boolean | None = None
    timeout: Seconds | None = None
    """Seconds for a whole request."""
    read_timeout: Seconds | None = None
    """Seconds for each wait for the next bytes."""
    finish_optional: Boolean | None = None
    """True for a server that sends no finish reason."""
    native_schema: Boolean | None = None
    """Whether the server has a field of its own for an output schema."""
    stream_usage: Boolean | None = None
    """False for a server that does not take the request for token counts in a stream."""
    replay_extra: Boolean | None = None
    """False for a server that does not take back the fields it added to its answers."""
    prompt_cache: Boolean | None = None
    """False to mark nothing for Anthropic's prompt cache."""


class Parameter(Strict):
    """A value that the caller gives (``--var NAME=VALUE``); without a default it must be given."""

    noun: ClassVar[str] = "a parameter"

    type: Literal["string", "integer", "number", "boolean"] = "string"
    description: Text = ""
    enum: Annotated[list[Any] | None, PlainValidator(parameter_enum, json_schema_input_type=list[Any])] = None
    """The values there are to choose from."""
    default: Annotated[Any, PlainValidator(parameter_default, json_schema_input_type=str | int | float | bool)] = None

    @property
    def required(self) -> bool:
        return "default" not in self.model_fields_set


class InstructionsFile(Strict):
    """Instructions in a file of their own, relative to the agent file."""

    noun: ClassVar[str] = "instructions"

    file: Text


class PythonTool(Strict):
    """A Python function; the schema comes from its signature and docstring."""

    noun: ClassVar[str] = "a python tool"
    later: ClassVar[frozenset[str]] = later.TOOL_KEYS

    type: Literal["python"]
    function: FunctionReference
    """``package.module:function``, or ``./file.py:function`` relative to the agent file."""
    name: Annotated[Text, AfterValidator(tool_name)] | None = None
    """What the model calls it, if not by the function's name."""
    on_resume: OnResume = "rerun"
    """What happens to a call that a crash left without a result."""
    timeout: Timeout = DEFAULT_TIMEOUT
    """Seconds; null for none."""


class ShellTool(Strict):
    """A command; ``${args.NAME}`` in it stands for an argument."""

    noun: ClassVar[str] = "a shell tool"
    later: ClassVar[frozenset[str]] = later.TOOL_KEYS

    type: Literal["shell"]
    name: Annotated[Text, AfterValidator(tool_name)]
    description: Text = ""
    shell: Boolean = False
    """True: the command is one line for ``/bin/sh``."""
    command: Annotated[
        Annotated[Annotated[list[CommandText], Field(min_length=1)], Tag("(argv)")]
        | Annotated[CommandText, Tag("(line)")],
        Discriminator(lambda value: "(argv)" if isinstance(value, list) else "(line)"),
        AfterValidator(argv_or_line),
    ]
    """A list of arguments, run as it is; one line only with ``shell: true``."""
    args: dict[
        Annotated[Text, AfterValidator(identifier)],
        Annotated[dict[str, Any], PlainValidator(argument_schema, json_schema_input_type=dict[str, Any])],
    ] = Field(default_factory=empty_dict)
    """The arguments, each a JSON Schema; those without a default are required."""
    env: dict[Annotated[Text, AfterValidator(identifier)], Annotated[Text, AfterValidator(environment_value)]] = Field(
        default_factory=empty_dict
    )
    """Variables for the command; ``${env.NAME}`` takes one from the environment of lovia."""
    cwd: Text | None = None
    """Where it runs, relative to the agent file; where lovia runs if not given."""
    on_resume: OnResume = "rerun"
    timeout: Timeout = DEFAULT_TIMEOUT
    """Seconds; null for none."""


class LimitsOfRun(Strict):
    """Totals over the whole run, all processes together; null is no limit."""

    noun: ClassVar[str] = "limits"

    max_steps: Annotated[Count | None, Nullable] = 50
    max_tool_calls: Annotated[CountOrZero | None, Nullable] = None
    max_total_tokens: Annotated[Count | None, Nullable] = None
    max_cost_usd: Annotated[Seconds | None, Nullable] = None
    """Needs a model whose price lovia knows."""
    max_seconds: Annotated[Seconds | None, Nullable] = None
    """Executing time only, never the wait for a person."""


def _tool_tag(value: Any) -> str | None:
    if isinstance(value, str):
        return "(short)"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"({kind})" if kind in ("python", "shell") else None


ToolEntry = Annotated[
    Annotated[FunctionReference, Tag("(short)")]
    | Annotated[PythonTool, Tag("(python)")]
    | Annotated[ShellTool, Tag("(shell)")],
    Discriminator(_tool_tag),
    BeforeValidator(tool_mapping),
]


class AgentFile(Strict):
    """A lovia agent."""

    noun: ClassVar[str] = "the agent file"
    later: ClassVar[frozenset[str]] = later.AGENT_KEYS

    version: Annotated[Literal[1], BeforeValidator(version_number)] = 1
    name: Annotated[Text, AfterValidator(visible)]
    description: Text = ""
    model: Annotated[ModelReference, BeforeValidator(model_reference, json_schema_input_type=ModelReference | str)]
    """``provider:name``, or a mapping."""
    fallback: list[
        Annotated[ModelReference, BeforeValidator(model_reference, json_schema_input_type=ModelReference | str)]
    ] = Field(default_factory=empty_list)
    """Models to ask, in turn, when the one before did not answer."""
    providers: dict[Annotated[Text, AfterValidator(identifier)], Provider] = Field(default_factory=empty_dict)
    """Further names for the part of a model before the colon."""
    model_settings: JsonObject = Field(default_factory=empty_dict)
    """Passed to the provider, such as ``temperature``."""
    parameters: dict[Annotated[Text, AfterValidator(identifier)], Parameter] = Field(default_factory=empty_dict)
    """Filled by ``--var``; ``{{ name }}`` in the instructions stands for one."""
    instructions: Annotated[
        Annotated[Text, Tag("(text)")] | Annotated[InstructionsFile, Tag("(file)")],
        Discriminator(lambda value: "(file)" if isinstance(value, dict | InstructionsFile) else "(text)"),
    ] = ""
    tools: list[ToolEntry] = Field(default_factory=empty_list)
    output_schema: (
        Annotated[dict[str, Any], PlainValidator(argument_schema, json_schema_input_type=dict[str, Any])] | None
    ) = None
    """The JSON Schema of the answer; one that does not fit is sent back once."""
    limits: LimitsOfRun = Field(default_factory=LimitsOfRun.model_construct)
    tool_concurrency: Count = 4
    """How many calls of one step run at the same time."""
    on_drift: Literal["warn", "error", "ignore"] = "warn"
    """What happens when an unfinished run goes on with an agent that has changed since."""
    history_limit: Annotated[CountOrZero | None, Nullable] = None
    """How many saves of a run are its history: the newest so many, 0 for none; all of them by default."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the agent file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **AgentFile.model_json_schema()}
