"""Every way in which a provider fails, as a `ProviderError` that names it, the status, and what it said.

What a server says may hold anything: a proxy's page, control characters, the key it was sent. It is shortened,
kept on one line, and never shows the key.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lovia_cli.errors import CredentialsError, ProviderError
from lovia_cli.models.wire import BadAnswer, ErrorBody

MAX_SAID = 300
"""How much of a server's words goes into a message."""

_PASSING_STATUS = frozenset({408, 409, 425, 429})
_LASTING_KINDS = frozenset(
    {"invalid_request_error", "invalid_request", "not_found_error", "not_found", "request_too_large",
     "insufficient_quota", "billing_error", "billing_not_active", "context_length_exceeded"}
)  # fmt: skip
_REFUSED_KINDS = frozenset({"authentication_error", "permission_error", "invalid_api_key", "unauthorized"})
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0]+")
# What is not closed goes to the end of the page: nothing that was read through is looked at again from its middle.
_TAGS = re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)|<[^>]*(?:>|\Z)", re.DOTALL | re.IGNORECASE)


@dataclass(slots=True, frozen=True, kw_only=True)
class Faults:
    """Makes the errors of one provider. ``label`` names it in messages, ``key_env`` is where its key is read."""

    label: str
    key_env: str | None = None
    secret: str = ""

    def __repr__(self) -> str:
        return f"Faults(label={self.label!r})"

    def status(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderError:
        """The server answered, but not with 2xx."""
        said = self.said(body)
        if 300 <= status < 400:
            return ProviderError(
                f"{self.label} answered {status}, a redirect, which is not followed: the key would go there",
                status=status,
                hint="give the address that answers itself as base_url",
            )
        if status in {401, 403}:
            return self.refused(status, said)
        retryable = status in _PASSING_STATUS or status >= 500
        return ProviderError(
            f"{self.label} answered {status}: {said}",
            retryable=retryable and not _kinds(body) & _LASTING_KINDS,
            status=status,
            retry_after=retry_after(headers),
            hint=None if retryable else "the request itself was refused; see what the provider says",
        )

    def refused(self, status: int | None, said: str) -> CredentialsError:
        """The key was refused."""
        key = f"the key in {self.key_env}" if self.key_env else "a request without a key"
        hint = f"check {self.key_env}" if self.key_env else "name the variable that holds the key as api_key_env"
        return CredentialsError(f"{self.label} refused {key} ({status}): {said}", status=status, hint=hint)

    def body(self, body: Any, status: int = 200) -> ProviderError:
        """An error where an answer should be: with status 200, or inside a stream."""
        kinds = _kinds(body)
        code = next((int(kind) for kind in kinds if kind.isdigit() and len(kind) == 3), None)
        if kinds & _REFUSED_KINDS or code in {401, 403}:
            return self.refused(code or status, self.said(body))
        lasting = bool(kinds & _LASTING_KINDS) or (code is not None and code < 500 and code not in _PASSING_STATUS)
        inside = f"{status} with error {code}" if code else f"{status} with an error"
        return ProviderError(
            f"{self.label} answered {inside}: {self.said(body)}", retryable=not lasting, status=code or status
        )

    def bad_answer(self, error: BadAnswer | ErrorBody, status: int | None) -> ProviderError:
        """An answer came, but it cannot be taken for one; ``status`` when it came by HTTP."""
        if isinstance(error, ErrorBody):
            return self.body(error.body, status or 200)
        answered = f"answered {status}" if status else "answered"
        return ProviderError(
            f"{self.label} {answered}, but {self.clean(error.message)}",
            retryable=error.retryable,
            status=status,
            hint=error.hint,
        )

    def connection(self, error: BaseException, status: int | None) -> ProviderError:
        """There is no connection, or it broke; ``status`` when the answer had begun."""
        reason = self.clean(str(error.__cause__ or error) or type(error).__name__)
        when = f" within its answer (status {status})" if status else ""
        hint = None if status else "is the server running, and is base_url right?"
        return ProviderError(
            f"the connection to {self.label} failed{when}: {reason}", retryable=True, status=status, hint=hint
        )

    def overdue(self, seconds: float, what: str, status: int | None) -> ProviderError:
        """Nothing came for too long, or not all in time."""
        began = f" (status {status})" if status else ""
        return ProviderError(f"{self.label} {what} within {seconds:g} s{began}", retryable=True, status=status)

    def said(self, body: Any) -> str:
        """What the server said, as one short line."""
        if isinstance(body, bytes):
            body = body.decode("utf-8", "replace")
        if isinstance(body, dict):
            error = body.get("error", body)
            text = error.get("message") or error.get("detail") if isinstance(error, dict) else error
            return self.clean(str(text or body.get("message") or body))
        text = str(body or "")
        if "<html" in text.lower() or text.lstrip().lower().startswith("<!doctype"):
            return self.clean(f"an HTML page: {_TAGS.sub(' ', text)}")
        return self.clean(text) or "nothing"

    def clean(self, text: str) -> str:
        """``text`` on one line, short, without control characters, and without the key."""
        if self.secret:
            text = text.replace(self.secret, "[key]")
        text = _UNSEEN.sub(" ", text).strip()
        return text if len(text) <= MAX_SAID else text[:MAX_SAID] + "..."


def all_refused(errors: Sequence[Exception]) -> CredentialsError | None:
    """One error that names every key that is missing or was refused, when that is all there is."""
    refused = [error for error in errors if isinstance(error, CredentialsError)]
    if not refused or len(refused) < len(errors):
        return None
    messages, hints = (
        dict.fromkeys(texts) for texts in zip(*((e.message, e.hint or "") for e in refused), strict=True)
    )
    return CredentialsError(
        "; ".join(messages), status=refused[0].status, hint="; or ".join(filter(None, hints)) or None
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the headers ask: milliseconds, seconds, or the date of an HTTP header."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name) or "") / unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(headers.get("retry-after") or "")
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())


def _kinds(body: Any) -> set[str]:
    """The words an error body uses for what went wrong."""
    error = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return set()
    return {str(error[name]).lower() for name in ("type", "code", "status") if error.get(name) is not None}
