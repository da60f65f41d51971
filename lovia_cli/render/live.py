"""A run as a person watches it: the answer on stdout, everything else in simple lines on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia_cli.render.terminal import Paint, safe, shortened

if TYPE_CHECKING:
    from lovia_cli.cli.answers import RunAnswer
    from lovia_cli.engine.events import Event
    from lovia_cli.render.streams import Streams
    from lovia_cli.settings import Settings
    from stores.errors import LoviaError


class Live:
    """Shows events as they come, and at the end the answer, what went wrong, and how to go on.

    Only text mode has stdout: there the answer is streamed at a terminal, and printed whole elsewhere. Tools show
    at a terminal or with ``-v``; ``-q`` leaves warnings and errors.
    """

    def __init__(self, streams: Streams, settings: Settings) -> None:
        self._out = streams.out if settings.output == "text" else None
        self._err = streams.err
        self._quiet = settings.quiet
        self._verbose = settings.verbose
        self._tools = not settings.quiet and (settings.verbose > 0 or streams.err.is_terminal)
        self._streaming = self._out is not None and self._out.is_terminal
        self._paint = Paint(settings.color and streams.err.is_terminal)
        self._streamed = ""
        self._mid_line = False
        self._told: set[str] = set()
        self._run_id = ""

    def event(self, event: Event) -> None:
        """Show one event; kinds that nobody needs to see are passed over."""
        self._run_id = event.run_id
        if event.type in ("model.started", "model.retry"):
            self._streamed = ""
        show = getattr(self, "_on_" + event.type.replace(".", "_"), None)
        if show is not None:
            show(event.data)

    def finish(self, answer: RunAnswer) -> None:
        """The last words of a command that was to run something."""
        result = answer.result
        if result is not None and result.status == "completed":
            self._answer(result.output)
        self._end_line()
        for warning in result.warnings if result is not None else ():
            self._warn(warning)
        problem = answer.problem
        if problem is not None:
            label = "interrupted" if result is not None and result.status == "interrupted" else "error"
            for line in _said(problem, self._paint.red(label + ":")):
                self._line(line)
            if where := problem.where or _place(answer):
                self._line(f"  where: {safe(where, lines=False)}")
            if problem.hint and not answer.go_on:
                self._line(f"  hint: {safe(problem.hint, lines=False)}")
        elif self._tools and result is not None:
            self._line(self._paint.dim(_summary(result)))
        if answer.go_on:
            if not self._quiet:
                self._line(f"  {safe(problem.hint, lines=False) if problem and problem.hint else 'go on with:'}")
            self._line(answer.go_on)

    def _answer(self, output: Any) -> None:
        """The final answer on stdout, unless it has been streamed there already."""
        if self._out is None or output is None:
            return
        text = output if isinstance(output, str) else _as_text(output)
        if not self._streamed or self._streamed != text:
            self._end_line()
            self._out.text(safe(text))
        if not text.endswith("\n"):
            self._out.text("\n")
        self._mid_line = False

    # --- events -----------------------------------------------------------------------------------------------------

    def _on_run_started(self, data: dict[str, Any]) -> None:
        session, how = data.get("session_id"), ""
        if data.get("replayed"):
            how = " replayed"
        elif data.get("resumed"):
            how = f" resumed after step {data.get('steps')}"
        where = f" (session {safe(session, lines=False)})" if session is not None else ""
        if not self._quiet:
            self._line(self._paint.dim(f"run {safe(self._run_id, lines=False)}{where}{how}"))
        if data.get("input_ignored"):
            self._warn(f"the input was ignored: run {self._run_id} has the one it started from")

    def _on_notice(self, data: dict[str, Any]) -> None:
        message = str(data.get("message"))
        if data.get("level") == "warning":
            self._warn(message)
        elif not self._quiet:
            self._line(f"note: {safe(message, lines=False)}")

    def _on_agent_drift(self, data: dict[str, Any]) -> None:
        changes = data.get("changes")
        text = ", ".join(map(str, changes)) if isinstance(changes, list) else str(changes)
        self._warn(f"the agent has changed since the run was saved: {text}")

    def _on_text_delta(self, data: dict[str, Any]) -> None:
        if self._streaming and self._out is not None and data["text"]:
            self._streamed += data["text"]
            self._out.text(safe(data["text"]))
            self._mid_line = not data["text"].endswith("\n")

    def _on_model_retry(self, data: dict[str, Any]) -> None:
        if not self._quiet:
            message = safe(str(data.get("message")), lines=False)
            self._line(f"the model is asked again in {data.get('wait'):g} s: {message}")

    def _on_tool_started(self, data: dict[str, Any]) -> None:
        self._tool_line(">", data, str(data.get("arguments")))

    def _on_tool_progress(self, data: dict[str, Any]) -> None:
        self._tool_line(" ", data, str(data.get("text")))

    def _on_tool_finished(self, data: dict[str, Any]) -> None:
        seconds = data.get("seconds")
        took = f" {seconds:.1f} s" if isinstance(seconds, (int, float)) else ""
        mark = self._paint.red(str(data.get("kind"))) if data.get("is_error") else self._paint.green("ok")
        self._tool_line("<", data, str(data.get("output")), f"{mark}{took} ")

    def _on_run_saved(self, data: dict[str, Any]) -> None:
        if self._verbose > 1 and not self._quiet:
            self._line(self._paint.dim(f"saved {data.get('save')} (step {data.get('step')}, {data.get('event')})"))

    # --- lines --------------------------------------------------------------------------------------------------------

    def _tool_line(self, sign: str, data: dict[str, Any], text: str, what: str = "") -> None:
        """One line of a call: its place and name, what happened, and as much of a text as the line still holds."""
        if self._tools:
            name = safe(str(data.get("name") or ""), lines=False)
            room = max(20, (self._err.columns or 120) - 28 - len(name))
            place = f"{data.get('step')}.{data.get('position')}"
            self._line(f"{sign} {place} {name} {what}{self._paint.dim(shortened(text, room))}".rstrip())

    def _warn(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self._line(f"{self._paint.yellow('warning:')} {safe(message, lines=False)}")

    def _line(self, text: str) -> None:
        self._end_line()
        self._err.text(text + "\n")

    def _end_line(self) -> None:
        """A line of ours never begins in the middle of the streamed answer."""
        if self._mid_line and self._out is not None:
            self._out.text("\n")
            self._mid_line = False
            self._streamed = ""


def _said(problem: LoviaError, label: str) -> list[str]:
    """What happened in one line; an agent file with several mistakes has one more line for each."""
    several = getattr(problem, "problems", ())
    if len(several) < 2:
        return [f"{label} {safe(problem.message, lines=False)}"]
    head = problem.message.partition("\n")[0].removesuffix(":")
    return [f"{label} {safe(head, lines=False)}", *(f"  {safe(str(one), lines=False)}" for one in several)]


def _as_text(output: Any) -> str:
    """An answer that is a value, such as one that an ``output_schema`` describes."""
    import json

    return json.dumps(output, ensure_ascii=False, indent=2, default=str)


def _place(answer: RunAnswer) -> str:
    """Which run, and in which store."""
    run_id = answer.result.run_id if answer.result else answer.run_id
    parts = [f"run {run_id}"] if run_id else []
    return " in ".join([*parts, *([answer.store] if answer.store else [])])


def _summary(result: Any) -> str:
    """One line of what came out: how much work it was."""
    steps = f"{result.steps} step" + ("" if result.steps == 1 else "s")
    calls = f"{result.tool_calls} tool call" + ("" if result.tool_calls == 1 else "s")
    tokens = result.usage.total_tokens
    about = "at least " if result.usage.unknown and tokens else ""
    parts = [steps, calls] + ([f"{about}{tokens:,} tokens"] if tokens else [])
    parts += [f"${result.cost_usd:.4f}"] if result.cost_usd else []
    return ("replayed: " if result.replayed else "completed: ") + ", ".join(parts)
