"""A run as a person watches it: the answer on stdout, everything else in simple lines on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia_cli.render.ending import error_lines, summary
from lovia_cli.render.terminal import Paint, safe, shortened

if TYPE_CHECKING:
    from lovia_cli.cli.answers import RunAnswer
    from lovia_cli.engine.events import Event
    from lovia_cli.render.progress import Progress
    from lovia_cli.render.streams import Streams
    from lovia_cli.settings import Settings


class Live:
    """Shows events as they come, and at the end the answer, what went wrong, and how to go on.

    Only text mode has stdout: there the answer is streamed at a terminal, and printed whole elsewhere. Tools show
    at a terminal or with ``-v``, which also shows saves and steps, and ``-vv`` reasoning; ``-q`` leaves errors.
    """

    def __init__(self, streams: Streams, settings: Settings) -> None:
        self._streams = streams
        self._out = streams.out if settings.output == "text" else None
        self._err = streams.err
        self._quiet = settings.quiet
        self._verbose = 0 if settings.quiet else settings.verbose
        self._tools = not settings.quiet and (settings.verbose > 0 or streams.err.is_terminal)
        self._streaming = self._out is not None and self._out.is_terminal
        self._paint = Paint(settings.color and streams.err.is_terminal)
        self._progress = self._new_progress(settings)
        self._streamed: list[str] = []
        self._cut = self._broken = False
        self._reasoning: list[str] = []
        self._mid_line = False
        self._told: set[str] = set()
        self._run_id = ""
        self._asked_at = 0.0

    def _new_progress(self, settings: Settings) -> Progress | None:
        """Only a terminal that takes sequences has a line that changes."""
        if settings.quiet or not self._err.is_terminal or settings.plain_terminal:
            return None
        from lovia_cli.render.progress import Progress

        progress = Progress(self._err, self._paint)
        for stream in (self._streams.out, self._err):
            stream.progress = progress if stream.is_terminal else None
        return progress

    def event(self, event: Event) -> None:
        """Show one event; kinds that nobody needs to see are passed over."""
        self._run_id = event.run_id
        if event.type in ("model.started", "model.retry"):
            self._streamed, self._cut, self._broken = [], False, False
        if event.type == "model.started":
            self._asked_at = event.ts
        elif event.type == "model.finished" and self._verbose:
            self._step_line(event.data, event.ts - self._asked_at)
        show = getattr(self, "_on_" + event.type.replace(".", "_"), None)
        if show is not None:
            show(event.data)

    def finish(self, answer: RunAnswer) -> None:
        """The last words of a command that was to run something, or of one run of a conversation."""
        if self._progress:
            self._progress.stop()
        result = answer.result
        if result is not None and result.status == "completed":
            self._answer(result.output)
        self._end_line()
        for warning in result.warnings if result is not None else ():
            self._warn(warning)
        problem = answer.problem
        if problem is not None:
            for line in error_lines(answer, problem, self._paint):
                self._line(line)
        elif self._tools and result is not None:
            self._line(summary(result, answer.next, self._paint, self._err.columns))
        if answer.go_on:
            self._line(f"  {safe(problem.hint, lines=False) if problem and problem.hint else 'go on with:'}")
            self._line(answer.go_on)
        self._told.clear()

    def note(self, text: str) -> None:
        """A line of ours beside what runs; not with ``-q``."""
        if not self._quiet:
            self._line(self._paint.dim(safe(text, lines=False)))

    def _answer(self, output: Any) -> None:
        """The final answer on stdout, unless it has been streamed there already."""
        if self._out is None or output is None:
            return
        text = output if isinstance(output, str) else _as_text(output)
        if self._broken or not text or "".join(self._streamed) != text:
            self._end_line()
            self._out.text(safe(text))
            self._mid_line = not text.endswith("\n")
        if self._mid_line:
            self._out.text("\n")
        self._mid_line = False

    # --- events -----------------------------------------------------------------------------------------------------

    def _on_run_started(self, data: dict[str, Any]) -> None:
        session, how = data.get("session_id"), ""
        if data.get("replayed"):
            how = " replayed"
        elif data.get("resumed"):
            how = f" resumed at step {data.get('steps')}"
        where = f" (session {safe(session, lines=False)})" if session is not None else ""
        if not self._quiet:
            self._line(self._paint.dim(f"run {safe(self._run_id, lines=False)}{where}{how}"))
        if data.get("input_ignored"):
            self._warn(f"the input was ignored: run {self._run_id} has the one it started from")

    def _on_notice(self, data: dict[str, Any]) -> None:
        message = str(data.get("message"))
        if data.get("level") == "warning" and data.get("code") != "continues":
            self._warn(message)
        elif message not in self._told:
            self._told.add(message)
            self.note(message)

    def _on_model_started(self, data: dict[str, Any]) -> None:
        if self._progress:
            self._progress.begin("model", f"step {data['step']}: {safe(str(data.get('model')), lines=False)}")

    def _on_text_delta(self, data: dict[str, Any]) -> None:
        self._end_reasoning()
        if self._streaming and self._out is not None and data["text"]:
            self._broken = self._broken or self._cut
            self._streamed.append(data["text"])
            self._out.text(safe(data["text"]))
            self._mid_line = not data["text"].endswith("\n")

    def _on_reasoning_delta(self, data: dict[str, Any]) -> None:
        """With ``-vv``, by whole lines."""
        if self._verbose > 1:
            *ends, rest = str(data.get("text")).split("\n")
            for end in ends:
                line = "".join([*self._reasoning, end])
                self._line(self._paint.dim(f"reasoning: {safe(line, lines=False)}"))
                self._reasoning = []
            if rest:
                self._reasoning.append(rest)

    def _end_reasoning(self) -> None:
        if self._reasoning:
            self._on_reasoning_delta({"text": "\n"})

    def _on_model_retry(self, data: dict[str, Any]) -> None:
        if not self._quiet:
            message = safe(str(data.get("message")), lines=False)
            other = data.get("fallback")
            again = f"the model is asked again in {data.get('wait'):g} s"
            self._line(f"{f'asking the fallback {safe(str(other), lines=False)}' if other else again}: {message}")

    def _on_model_finished(self, data: dict[str, Any]) -> None:
        del data
        self._end_reasoning()
        if self._progress:
            self._progress.end("model")

    def _on_tool_started(self, data: dict[str, Any]) -> None:
        self._tool_line(">", data, str(data.get("arguments")))
        if self._progress:
            self._progress.begin(_place(data), f"{_place(data)} {safe(str(data.get('name')), lines=False)}")

    def _on_tool_progress(self, data: dict[str, Any]) -> None:
        self._tool_line(" ", data, str(data.get("text")))

    def _on_tool_finished(self, data: dict[str, Any]) -> None:
        if self._progress:
            self._progress.end(_place(data))
        seconds = data.get("seconds")
        took = f" {seconds:.1f} s" if isinstance(seconds, (int, float)) else ""
        mark = self._paint.red(str(data.get("kind"))) if data.get("is_error") else self._paint.green("ok")
        self._tool_line("<", data, str(data.get("output")), f"{mark}{took} ")

    def _on_run_saved(self, data: dict[str, Any]) -> None:
        if self._verbose:
            self._line(self._paint.dim(f"saved {data.get('save')} (step {data.get('step')}, {data.get('event')})"))

    # --- lines --------------------------------------------------------------------------------------------------------

    def _step_line(self, data: dict[str, Any], seconds: float) -> None:
        """With ``-v``: what a response was, and what it took."""
        usage = data.get("usage") or {}
        tokens = [usage.get(name) for name in ("input_tokens", "output_tokens")]
        cost = data.get("cost_usd")
        parts = [
            str(data.get("model") or "model"),
            f"{seconds:.1f} s",
            *([f"{tokens[0] or 0:,} + {tokens[1] or 0:,} tokens"] if tokens != [None, None] else []),
            *([f"${cost:.4f}"] if cost is not None else []),
            str(data.get("finish_reason") or "-"),
        ]
        self._line(self._paint.dim(f"step {data.get('step')}: {safe(', '.join(parts), lines=False)}"))

    def _tool_line(self, sign: str, data: dict[str, Any], text: str, what: str = "") -> None:
        """One line of a call: its place and name, what happened, and as much of a text as the line still holds."""
        if self._tools:
            name = safe(str(data.get("name") or ""), lines=False)
            room = max(20, (self._err.columns or 120) - 28 - len(name))
            self._line(f"{sign} {_place(data)} {name} {what}{self._paint.dim(shortened(text, room))}".rstrip())

    def _warn(self, message: str) -> None:
        if message not in self._told and not self._quiet:
            self._told.add(message)
            self._line(f"{self._paint.yellow('warning:')} {safe(message, lines=False)}")

    def _line(self, text: str) -> None:
        self._end_line()
        self._err.text(text + "\n")

    def _end_line(self) -> None:
        """A line of ours never begins in the middle of the streamed answer; what goes on after it is broken."""
        if self._mid_line and self._out is not None:
            self._out.text("\n")
            self._mid_line, self._cut = False, True


def _place(data: dict[str, Any]) -> str:
    return f"{data.get('step')}.{data.get('position')}"


def _as_text(output: Any) -> str:
    """An answer that is a value, such as one that an ``output_schema`` describes."""
    import json

    return json.dumps(output, ensure_ascii=False, indent=2, default=str)
