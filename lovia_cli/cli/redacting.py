"""Taking secrets out of what is handed on: values that are known, and texts of a shape that only keys have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from stores.fields import changed, field_names, is_record

HIDDEN = "[redacted]"
_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
"""Neither JSON nor a URL writes these in another way."""

_FORMAT_KEYS = frozenset({"v", "kind", "type", "role", "status", "event"})
"""What has one of a few words in an export's own objects, none of which tells anything of a secret."""

FREE = frozenset({"arguments", "output", "state", "variables"})
"""Where values are a model's, a tool's or a person's, numbers too."""

_PARTS = frozenset({"head", "queued_input", "entries", "segments", "saves"})
"""What holds further objects of the export's own."""

_WORD = "[A-Za-z0-9_-]"
_SHAPES = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and many who took after them
    r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # AWS
    r"\bAIza[A-Za-z0-9_-]{30,}",  # Google
    r"\b(?:hf|npm|dop_v1|shpat|gsk|r8)_[A-Za-z0-9]{20,}|\b(?:pypi|pplx|xai)-[A-Za-z0-9_-]{30,}",
    # JSON web tokens. What comes before is taken along: a token is looked for once in a word, and not from each `-eyJ`.
    rf"(?<!{_WORD})(?={_WORD}+\.eyJ{_WORD}{{8,}}\.)(?:{_WORD}*?[_-])?eyJ{_WORD}{{8,}}\.eyJ{_WORD}{{8,}}\.{_WORD}*",
    r"(?<=earer )[A-Za-z0-9._~+/=-]{16,}",
    r"(?<=://)[^\s/@:\"'\\]*:[^\s/@\"'\\]+(?=@)",  # user and password in a URL
)


@cache
def _shapes() -> re.Pattern[str]:
    return re.compile("|".join(_SHAPES), re.DOTALL)


class Redactor:
    """Replaces secrets in text and JSON, and counts them.

    ``known`` are values by the name that is shown in their place; ``shapes`` also takes what only looks like a key.
    """

    def __init__(self, known: Mapping[str, str], *, shapes: bool) -> None:
        self.count = 0
        self._shapes = shapes
        forms = {form: f"[{name}]" for name, value in known.items() for form in _forms(value)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._forms = forms
        self._known = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def text(self, text: str) -> str:
        """``text`` without what is known or looks like a key."""
        if self._known is not None:
            text, count = self._known.subn(lambda found: self._forms[found[0]], text)
            self.count += count
        if self._shapes:
            text, count = _shapes().subn(HIDDEN, text)
            self.count += count
        return text

    def whole(self, text: str) -> int:
        """How many characters ``text`` has before what a known value may begin with, its end still to come."""
        longest = max(map(len, self._forms), default=1)
        starts = range(max(0, len(text) - longest + 1), len(text))
        cut = next((at for at in starts if self._begins(text[at:])), len(text))
        for found in self._known.finditer(text) if self._known and cut < len(text) else ():
            if found.start() < cut < found.end():
                return found.start()
        return cut

    def _begins(self, tail: str) -> bool:
        return any(form.startswith(tail) for form in self._forms)

    def json(self, value: Any, *, is_free: bool = True) -> Any:
        """A copy of a JSON value with every text in it, keys too, passed through `text`; of a record too.

        What is not free has numbers of the format's own, which stay, but for those under a name of `FREE`.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float):
            return self._number(value) if is_free else value
        if isinstance(value, dict):
            return {self.text(key): self.json(item, is_free=is_free or key in FREE) for key, item in value.items()}
        if is_record(value):
            names = field_names(type(value))
            return changed(value, **{name: self.json(getattr(value, name), is_free=name in FREE) for name in names})
        if isinstance(value, list | tuple):
            return type(value)(self.json(item, is_free=is_free) for item in value)
        return value

    def _number(self, number: float) -> Any:
        """The number, or the name of the value that it is as a whole."""
        name = self._forms.get(str(number)) if self._forms and not isinstance(number, bool) else None
        self.count += name is not None
        return number if name is None else name

    def export(self, part: Any) -> Any:
        """A copy of an export's document, as `json` makes it; the names and words that make it an export stay."""
        if isinstance(part, list):
            return [self.export(one) for one in part]
        if not isinstance(part, dict):
            return self.json(part)
        return {name: item if name in _FORMAT_KEYS else self._field(name, item) for name, item in part.items()}

    def _field(self, name: str, item: Any) -> Any:
        return self.export(item) if name in _PARTS else self.json(item, is_free=name in FREE)


def _forms(value: str) -> set[str]:
    """The value as it stands in plain text and in a URL, within JSON, and within JSON that a text of JSON has in it."""
    if not value.strip(_UNRESERVED):
        return {value}
    import json
    from urllib.parse import quote

    forms = {value, quote(value, safe="")}
    for _ in range(2):
        forms |= {json.dumps(form, ensure_ascii=is_ascii)[1:-1] for form in forms for is_ascii in (True, False)}
    return forms
