"""Python functions as tools: the schema from signature and docstring, the call in a thread or in the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from lovia_cli.models.base import ToolSpec
from lovia_cli.tools.base import ToolContext
from lovia_cli.tools.definition import DEFAULT_TIMEOUT, OnResume, check_definition
from lovia_cli.tools.loading import load_function
from lovia_cli.tools.signature import Arguments, read_doc, undecorated
from stores.entries import JSON

__all__ = ["PythonTool", "load_function", "python_tool", "tool"]


class PythonTool:
    """A function as a tool; calling it calls the function.

    A plain function runs in a thread of its own; nothing can stop a thread, so one that is cancelled or
    timed out goes on in the background until it returns or the process ends (it cannot keep the process
    from ending). An ``async`` function runs in the event loop, which it must not block, and is cancelled.
    Iterators and async iterators are used up within the call; the result is in its stored form (D4).

    Whatever the function raises becomes a `ToolError`, be it ``sys.exit``, KeyboardInterrupt or
    RecursionError (X13); only a cancellation from outside stays one. ``os._exit`` ends the process, and
    no library can prevent that.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        on_resume: OnResume = "rerun",
    ) -> None:
        name = name or str(getattr(undecorated(function), "__name__", type(function).__name__))
        where = _where(function)
        check_definition(name, timeout, on_resume, where=where)
        doc = read_doc(function)
        self._arguments = Arguments(function, name=name, where=where, described=doc.arguments)
        self._function = function
        self._spec = ToolSpec(
            name=name,
            description=doc.description if description is None else description,
            parameters=self._arguments.schema,
        )
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

    @property
    def function(self) -> Callable[..., Any]:
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def check(self, arguments: dict[str, JSON]) -> None:
        """Raise `ToolArgumentsError`, one line for each bad argument."""
        self._arguments.bind(arguments)

    async def call(self, arguments: dict[str, JSON], context: ToolContext) -> JSON:
        """Call the function and return the stored form of its result; raises `ToolError`."""
        from lovia_cli.tools.invoking import invoke  # who only checks a tool has no event loop

        bound = self._arguments.bind(arguments, context)
        return await invoke(self._function, bound, context, name=self._spec.name)


def python_tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = DEFAULT_TIMEOUT,
    on_resume: OnResume = "rerun",
) -> PythonTool:
    """A tool that calls ``function``; its docstring's first paragraph is the description unless one is given.

    A function that `tool` has already made a tool keeps the options that are left at their defaults here.
    Raises `AgentFileError` for a signature that JSON cannot call.
    """
    if isinstance(function, PythonTool):
        return PythonTool(
            function.function,
            name=name or function.spec.name,
            description=function.spec.description if description is None else description,
            timeout=function.timeout if timeout == DEFAULT_TIMEOUT else timeout,
            on_resume=function.on_resume if on_resume == "rerun" else on_resume,
        )
    return PythonTool(function, name=name, description=description, timeout=timeout, on_resume=on_resume)


@overload
def tool(function: Callable[..., Any]) -> PythonTool: ...
@overload
def tool(
    *, name: str | None = ..., description: str | None = ..., timeout: float | None = ..., on_resume: OnResume = ...
) -> Callable[[Callable[..., Any]], PythonTool]: ...
def tool(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function a tool: ``@tool``, or ``@tool(name=..., timeout=...)`` with `python_tool`'s options."""
    if function is not None:
        return python_tool(function, **options)
    return lambda decorated: python_tool(decorated, **options)


def _where(function: Callable[..., Any]) -> str:
    code = getattr(undecorated(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)
