"""What the caller sends: brought to input entries, and recognised when it was sent before (R5, K2, K5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lovia_cli.engine.output import is_repair
from lovia_cli.errors import UserError
from lovia_cli.models.parts import attachment
from lovia_cli.models.wire import BadAnswer
from stores.entries import JSON, AssistantTextEntry, Entry, InputEntry
from stores.values import clean_text, plain

Message = tuple[str, str, list[dict[str, JSON]]]
"""A role (user, assistant), a text, and what is attached to it."""

Input = str | Sequence[Entry | dict[str, Any]]


def new_inputs(given: Input, conversation: Iterable[Entry]) -> list[InputEntry]:
    """The inputs that are new: text or messages, less a stored ``conversation`` re-sent in front of them (K2).

    A message is an `InputEntry` or a dict with ``role``, ``content`` and, if any, ``parts``. Empty text is no input.
    An assistant message that is not part of the stored conversation is refused.
    """
    if isinstance(given, str):
        return [InputEntry(text=clean_text(given))] if given else []
    if not isinstance(given, list | tuple):
        raise UserError(f"the input is no text and no list of messages: {given!r}", hint="send text")
    sent = [_entry(message) for message in given]
    new = sent[_resent(sent, conversation) :]
    if new or any(isinstance(entry, AssistantTextEntry) for entry in sent):
        sent = new  # else it is the first message once more, which is a retry and no history
    inputs = [entry for entry in sent if isinstance(entry, InputEntry)]
    if len(inputs) < len(sent):
        raise UserError(
            "the input holds an assistant message that is not part of the stored conversation",
            hint="send only new messages, or the stored history exactly as it is, followed by them",
        )
    return inputs


def _entry(message: Entry | dict[str, Any]) -> InputEntry | AssistantTextEntry:
    if isinstance(message, InputEntry):
        parts = _parts(message.parts)
        return InputEntry(text=clean_text(message.text), role=message.role, parts=parts, extra=message.extra)
    if isinstance(message, AssistantTextEntry):
        return message
    role = message.get("role") if isinstance(message, dict) else None
    text = message.get("content", message.get("text")) if isinstance(message, dict) else None
    if role == "assistant" and isinstance(text, str):
        return AssistantTextEntry(text=text)
    if role not in ("user", "system") or not isinstance(text, str):
        raise UserError(
            f"an input message is not understood: {message!r}", hint='send {"role": "user", "content": TEXT}'
        )
    parts = message.get("parts", []) if isinstance(message, dict) else []
    return InputEntry(text=clean_text(text), role=role, parts=_parts(parts))


def _parts(parts: Any) -> list[dict[str, JSON]]:
    """The attachments in their stored form. One that no model reads would fail each run that has it before it."""
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise UserError(f"an input's parts are no list of objects: {parts!r}", hint='send [{"type": "file", ...}]')
    stored: list[dict[str, JSON]] = [plain(part) for part in parts]
    for part in stored:
        try:
            attachment(part)
        except BadAnswer as error:
            raise UserError(error.message, hint=error.hint) from error
    return stored


def _resent(sent: Sequence[Entry], conversation: Iterable[Entry]) -> int:
    """How many of the ``sent`` entries repeat the stored conversation from its beginning; 0 or all of it."""
    stored = _messages(conversation)
    if not stored or _messages(sent)[: len(stored)] != stored:
        return 0
    left = len(stored)
    for count, entry in enumerate(sent, start=1):
        left -= len(_messages([entry]))
        if left == 0:
            return count
    return len(sent)


def _messages(entries: Iterable[Entry]) -> list[Message]:
    messages: list[Message] = []
    for entry in entries:
        if isinstance(entry, InputEntry) and entry.role == "user":
            messages.append(("user", entry.text, entry.parts))
        elif isinstance(entry, AssistantTextEntry) and entry.text:
            messages.append(("assistant", entry.text, []))
    return messages


def same_inputs(a: Sequence[InputEntry], b: Sequence[InputEntry]) -> bool:
    """True when both say the same, byte for byte, attachments included."""
    return [(e.role, e.text, e.parts) for e in a] == [(e.role, e.text, e.parts) for e in b]


def is_retry(new: Sequence[InputEntry], entries: Sequence[Entry], queued: Sequence[InputEntry]) -> bool:
    """True when ``new`` repeats the input the run started from, or the last one queued to it (K2)."""
    later = [entry for entry in entries if isinstance(entry, InputEntry) and entry.step > 0 and not is_repair(entry)]
    last = [*later, *queued][-len(new) :]
    return repeats_start(new, entries) or (bool(last) and same_inputs(new, last))


def repeats_start(given: Sequence[InputEntry], entries: Iterable[Entry]) -> bool:
    """True when ``given`` is what the run started from, its system messages aside (R5, K2)."""
    start = [entry for entry in entries if isinstance(entry, InputEntry) and entry.step == 0]
    users = [entry for entry in start if entry.role == "user"]
    return same_inputs(given, start) or same_inputs(given, users)
