"""Commands as tools: declared arguments, an argv or a shell script, one process group a call."""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lovia_cli.errors import AgentFileError
from lovia_cli.models.base import ToolSpec
from lovia_cli.tools.base import ToolArgumentsError, ToolContext, ToolError
from lovia_cli.tools.definition import DEFAULT_TIMEOUT, OnResume, check_definition
from lovia_cli.tools.output import DEFAULT_OUTPUT_LIMIT
from lovia_cli.tools.signature import misfit, takes
from lovia_cli.tools.template import as_script, check_places, fill, variables
from stores.entries import JSON
from stores.values import to_text

if TYPE_CHECKING:
    from lovia_cli.tools.process import Finished

_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHELL = "/bin/sh"


class ShellTool:
    """A command that the model may run.

    ``command`` is an argv list. ``${args.x}`` within an element becomes the argument's text: it is never
    split again and no shell sees it. With ``shell=True`` it is a string for ``/bin/sh -c``, where
    ``${args.x}`` becomes a quoted shell variable (`as_script`), so that no value is parsed as code. Either way an
    argument that begins with a dash may be taken for an option by the program: put ``--`` before it.

    ``args`` has a JSON Schema for each argument. One without ``default`` is required; a default of null
    means nothing: an element that consists of it alone is left out.

    The command runs in lovia's current directory, or in ``cwd`` (relative to ``base_dir``, the agent file's
    folder; ``.`` is that folder). A program given as ``./x`` or ``../x`` is looked for in ``base_dir``.
    Its environment is lovia's own, then ``env``, then ``LOVIA_RUN_ID``, ``LOVIA_CALL_ID``, ``LOVIA_STEP`` and
    ``LOVIA_IDEMPOTENCY_KEY`` (Z5). It reads no stdin. See `run_group` for what becomes of its children.

    The result is stdout and stderr in the order they came, capped to ``output_limit`` bytes; a command that
    fails or is killed gives an error result with its output.
    """

    def __init__(
        self,
        name: str,
        description: str,
        command: list[str] | str,
        args: Mapping[str, JSON] | None = None,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        base_dir: Path | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        on_resume: OnResume = "rerun",
        output_limit: int = DEFAULT_OUTPUT_LIMIT,
    ) -> None:
        check_definition(name, timeout, on_resume)
        if output_limit < 0:
            raise AgentFileError(f"the output limit of {name} is {output_limit}", hint="give a number of bytes from 0")
        self._schemas = dict(args or {})
        self._validator = _validator(name, self._schemas)
        self._argv = _argv(name, command, self._schemas, shell=shell, base_dir=base_dir)
        self._shell = shell
        self._env = _checked_env(name, env or {})
        self._cwd = (base_dir or Path()) / cwd if cwd is not None else None
        self._output_limit = output_limit
        self._spec = ToolSpec(name=name, description=description, parameters=self._validator.schema)
        self._timeout = timeout
        self._on_resume: OnResume = on_resume

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    @property
    def timeout(self) -> float | None:
        return self._timeout

    @property
    def on_resume(self) -> OnResume:
        return self._on_resume

    def check(self, arguments: dict[str, JSON]) -> None:
        """Raise `ToolArgumentsError`, one line for each bad argument."""
        problems = list(self._problems(arguments))
        if problems:
            raise misfit(self._spec.name, problems)

    async def call(self, arguments: dict[str, JSON], context: ToolContext) -> str:
        """Run the command and return its output; raises `ToolError` when it fails."""
        from lovia_cli.tools.process import run_group  # who only checks a tool has no event loop

        self.check(arguments)
        filled = {name: schema.get("default") for name, schema in self._schemas.items()} | arguments
        environment = dict(os.environ) | self._env | _call_environment(context)
        if self._shell:
            argv, environment = self._argv, environment | variables(filled)
        else:
            argv = fill(self._argv, filled)
        try:
            finished = await run_group(argv, env=environment, cwd=self._cwd, output_limit=self._output_limit)
        except OSError as error:
            raise ToolError(_not_started(argv[0], error, self._cwd)) from error
        return _result(finished)

    def _problems(self, arguments: dict[str, JSON]) -> Iterator[str]:
        yield from (f"{name}: is required" for name in self._spec.parameters["required"] if name not in arguments)
        yield from (
            f"{name}: unknown argument; {takes(self._schemas)}" for name in arguments if name not in self._schemas
        )
        try:
            for error in self._validator.iter_errors(arguments):
                if error.path:
                    yield f"{'.'.join(map(str, error.path))}: {' '.join(error.message.split())}"
        except Exception as error:  # such as a $ref to nowhere, or a pattern that is no regular expression
            raise ToolArgumentsError(f"the arguments of {self._spec.name} cannot be checked: {error}") from error
        for name, value in arguments.items():
            if "\0" in to_text(value):
                yield f"{name}: holds a NUL character, which no command can be given"


def _validator(name: str, schemas: dict[str, JSON]) -> Any:
    """The validator of all arguments together; its ``schema`` is what the model is told."""
    import jsonschema
    import referencing

    for argument, schema in schemas.items():
        if not _ARGUMENT.fullmatch(argument):
            raise AgentFileError(f"{argument!r} cannot be an argument of {name}", hint="use letters, digits and _")
        if not isinstance(schema, dict):
            raise AgentFileError(f"argument {argument} of {name} is no JSON Schema", hint="write {type: string}")
    schema = {
        "type": "object",
        "properties": schemas,
        "required": [argument for argument, schema in schemas.items() if "default" not in schema],
        "additionalProperties": False,
    }
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        place = ".".join(str(part) for part in list(error.path)[1:])
        raise AgentFileError(f"args.{place} of {name} is no JSON Schema: {error.message}") from error
    # An empty registry: the default one fetches a foreign $ref over the network.
    validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
    for argument, own in schemas.items():
        if own.get("default") is not None:
            _check_default(name, argument, own, validator)
    return validator


def _check_default(name: str, argument: str, schema: dict[str, JSON], validator: Any) -> None:
    for error in validator.evolve(schema=schema).iter_errors(schema["default"]):
        raise AgentFileError(f"the default of argument {argument} of {name} does not fit it: {error.message}")


def _argv(
    name: str, command: list[str] | str, schemas: Mapping[str, JSON], *, shell: bool, base_dir: Path | None
) -> list[str]:
    """The argv before arguments are filled in."""
    where = f"command of {name}"
    if isinstance(command, str) != shell or not command:
        hint = "with shell: true it is a string" if shell else "write a list, or add shell: true for a string"
        raise AgentFileError(f"the {where} is no {'string' if shell else 'list of strings'}", hint=hint)
    if isinstance(command, str):
        check_places(command, schemas, where=where)
        return [_SHELL, "-c", as_script(command, where=where), name]
    for element in command:
        if not isinstance(element, str) or "\0" in element:
            raise AgentFileError(f"{element!r} in the {where} cannot be an argument", hint="quote it as text")
        check_places(element, schemas, where=where)
    if command[0].startswith(("./", "../")) and base_dir is not None:
        return [str((base_dir / command[0]).absolute()), *command[1:]]
    return list(command)


def _checked_env(name: str, env: Mapping[str, str]) -> dict[str, str]:
    for variable, value in env.items():
        if not variable or "=" in variable or "\0" in variable + value:
            raise AgentFileError(f"{variable!r} cannot be a variable in the environment of {name}")
    return dict(env)


def _call_environment(context: ToolContext) -> dict[str, str]:
    return {
        "LOVIA_RUN_ID": context.run_id,
        "LOVIA_CALL_ID": context.call_id,
        "LOVIA_STEP": str(context.step),
        "LOVIA_IDEMPOTENCY_KEY": context.idempotency_key,
    }


def _not_started(program: str, error: OSError, cwd: Path | None) -> str:
    if cwd is not None and not cwd.is_dir():
        return f"the directory {cwd} is not there"
    if error.errno == errno.ENOENT:
        return f"command not found: {program}"
    if error.errno == errno.EACCES:
        return f"not executable: {program}"
    if error.errno == errno.ENOEXEC:
        return f"not a program: {program} (does it lack a #! line?)"
    return f"{program} could not be started: {error.strerror}"


def _result(finished: Finished) -> str:
    if finished.returncode == 0:
        return finished.output
    if finished.returncode > 0:
        raise ToolError(f"exit code {finished.returncode}\n{finished.output}".rstrip("\n"))
    number = -finished.returncode
    known = {member.value: member.name for member in signal.Signals}
    raise ToolError(f"killed by {known.get(number, f'signal {number}')}\n{finished.output}".rstrip("\n"))
