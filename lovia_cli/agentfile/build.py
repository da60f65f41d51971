"""From a valid agent file to the agent that runs: the model, the tools, the instructions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lovia_cli.agentfile.spec import AgentSpec, environment_names
from lovia_cli.errors import AgentFileError, Problem
from lovia_cli.models.registry import provider_factories
from lovia_cli.models.spec import ModelFactory, ModelSpec
from lovia_cli.yamlfile.validate import near

if TYPE_CHECKING:
    from lovia_cli.agent import Agent
    from lovia_cli.agentfile import schema
    from lovia_cli.models.base import Model
    from lovia_cli.tools.base import Tool


def build_agent(
    spec: AgentSpec,
    *,
    models: Mapping[str, ModelFactory],
    model: ModelSpec | None = None,
    variables: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    is_offline: bool = False,
) -> Agent:
    """The agent of a file. Imports its tools' modules; asks no model.

    ``models`` maps providers to what builds their models. ``model`` takes the place of the file's. ``variables``
    are checked when given; the agent's instructions are rendered with those of the run. ``environ`` is where
    ``${env.NAME}`` is looked up, the process's own if not given. With ``is_offline`` no model is going to be asked, and
    none needs a price. Raises `AgentFileError` with all problems.
    """
    from lovia_cli.agent import Agent, Limits
    from lovia_cli.agentfile.output import output_parser

    environ = os.environ if environ is None else environ
    problems: list[Problem] = []
    if variables is not None:
        try:
            spec.instructions.resolve(variables)
        except AgentFileError as error:
            problems += error.problems
    built = build_model(spec, model, models, problems, is_offline=is_offline)
    tools = build_tools(spec, environ, problems)
    if problems or built is None:
        raise AgentFileError.of(problems)
    return Agent(
        name=spec.name,
        description=spec.file.description,
        model=built,
        instructions=spec.instructions.render if spec.instructions.parameters else spec.instructions.text,
        tools=tools,
        limits=Limits(**dict(spec.file.limits)),
        tool_concurrency=spec.file.tool_concurrency,
        model_settings=spec.file.model_settings,
        output_schema=spec.file.output_schema,
        parse_output=output_parser(spec.file.output_schema) if spec.file.output_schema is not None else None,
        on_drift=spec.file.on_drift,
        history_limit=spec.file.history_limit,
        environment=spec.environment_names(),
    )


def build_model(
    spec: AgentSpec,
    instead: ModelSpec | None,
    models: Mapping[str, ModelFactory],
    problems: list[Problem],
    *,
    is_offline: bool = False,
) -> Model | None:
    """The model to ask, with those that stand in for it; ``instead`` takes the place of the file's first."""
    own = provider_factories(spec.providers)
    known = {**models, **{name: own[name] for name in spec.providers}}
    wanted: list[tuple[ModelSpec, list[str | int]]] = [(instead or spec.model, [] if instead else ["model"])]
    wanted += [(model, ["fallback", index]) for index, model in enumerate(spec.fallback)]
    built = [_one_model(spec, model, place, known, problems) for model, place in wanted]
    made = [model for model in built if model is not None]
    if len(made) < len(built):
        return None
    model = _as_one(made)
    if spec.file.limits.max_cost_usd is not None and not is_offline:
        from lovia_cli.models.prices import unpriced

        place = ["limits", "max_cost_usd"]
        problems += [spec.document.problem(place, error.message, hint=error.hint) for error in unpriced(model)]
    return model


def _as_one(models: Sequence[Model]) -> Model:
    if len(models) == 1:
        return models[0]
    from lovia_cli.models.fallback import FallbackModel

    return FallbackModel(models)


def _one_model(
    spec: AgentSpec,
    wanted: ModelSpec,
    place: list[str | int],
    models: Mapping[str, ModelFactory],
    problems: list[Problem],
) -> Model | None:
    factory = models.get(wanted.provider)
    if factory is None:
        message, hint = f"unknown model provider '{wanted.provider}'", near(wanted.provider, models)
        problems.append(
            spec.document.problem([*place, "provider"], message, hint=hint)
            if place
            else Problem(message, "--model", hint=hint)
        )
        return None
    try:
        return factory(wanted, spec.folder)
    except AgentFileError as error:
        if place or error.problems:
            problems += _placed(error, spec, [*place, "name"])
        else:
            problems.append(Problem(_told(error), "--model", hint=error.hint))
        return None


def build_tools(spec: AgentSpec, environ: Mapping[str, str], problems: list[Problem]) -> list[Tool]:
    """The tools in the file's order; two of one name are a problem of the second."""
    tools: list[Tool] = []
    lines: dict[str, int] = {}
    for index, entry in enumerate(spec.file.tools):
        place: list[str | int] = ["tools", index]
        name = None if isinstance(entry, str) else entry.name
        try:
            tool = _tool(spec, entry, place, environ)
        except AgentFileError as error:
            problems += _placed(error, spec, place)
        else:
            name = tool.spec.name
            tools.append(tool)
        if name in lines:
            message = f"a second tool is named '{name}', the first is on line {lines[name]}"
            problems.append(spec.document.problem(place, message, hint="give one of them another 'name'"))
        if name is not None:
            lines.setdefault(name, spec.document.find(place).mark.line)
    return tools


def _tool(
    spec: AgentSpec,
    entry: str | schema.PythonTool | schema.ShellTool,
    place: Sequence[str | int],
    environ: Mapping[str, str],
) -> Tool:
    from lovia_cli.agentfile import schema

    if isinstance(entry, schema.ShellTool):
        return _shell_tool(spec, entry, place, environ)
    from lovia_cli.tools.python import load_function, python_tool

    if isinstance(entry, str):
        return python_tool(load_function(entry, spec.folder))
    function = load_function(entry.function, spec.folder)
    return python_tool(function, name=entry.name, timeout=entry.timeout, on_resume=entry.on_resume)


def _shell_tool(
    spec: AgentSpec, entry: schema.ShellTool, place: Sequence[str | int], environ: Mapping[str, str]
) -> Tool:
    from lovia_cli.tools.shell import ShellTool

    env: dict[str, str] = {}
    problems = _undeclared(spec, entry, place)
    for name, value in entry.env.items():
        try:
            env[name] = _expanded(spec, value, [*place, "env", name], environ)
        except AgentFileError as error:
            problems += error.problems
    if problems:
        raise AgentFileError.of(problems)
    return ShellTool(
        name=entry.name,
        description=entry.description,
        command=entry.command,
        args=entry.args,
        shell=entry.shell,
        env=env,
        cwd=entry.cwd,
        base_dir=spec.folder,
        timeout=entry.timeout,
        on_resume=entry.on_resume,
    )


def _undeclared(spec: AgentSpec, entry: schema.ShellTool, place: Sequence[str | int]) -> list[Problem]:
    """The arguments in the command that the tool does not take."""
    from lovia_cli.tools.template import undeclared

    where = [*place, "command"]
    texts = [(where, entry.command)] if isinstance(entry.command, str) else []
    texts = texts or [([*where, index], text) for index, text in enumerate(entry.command)]
    return [
        spec.document.problem(path, message, hint=hint)
        for path, text in texts
        for message, hint in undeclared(text, entry.args)
    ]


def _expanded(spec: AgentSpec, value: str, place: Sequence[str | int], environ: Mapping[str, str]) -> str:
    """The value with each ``${env.NAME}`` replaced, once."""
    from lovia_cli.agentfile.values import PLACEHOLDER

    unset = [name for name in dict.fromkeys(environment_names(value)) if name not in environ]
    if unset:
        raise AgentFileError.of([_unset(spec, name, place) for name in unset])
    return PLACEHOLDER.sub(lambda match: environ[match[1].removeprefix("env.")], value)


def _unset(spec: AgentSpec, name: str, place: Sequence[str | int]) -> Problem:
    message = f"the environment variable {name} is not set"
    return replace(spec.document.problem(place, message, hint=f"set it: export {name}=..."), is_given=True)


def _placed(error: AgentFileError, spec: AgentSpec, place: Sequence[str | int]) -> Sequence[Problem]:
    """The problems of ``error`` where they have places in a file; else one at ``place`` that says all of it."""
    if error.problems:
        return error.problems
    return [spec.document.problem(place, _told(error), hint=error.hint)]


def _told(error: AgentFileError) -> str:
    return f"{error.message} ({error.where})" if error.where else error.message
