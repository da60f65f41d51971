"""One self-contained HTML page: no script, no network, light and dark, for any screen and for print.

`page` is the frame and its looks; `transcript_page` fills it with a run or a session.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape

from lovia_cli.render.parts import Block, Part, parts_of, title_of
from stores.exchange import Exported

_LONG = 1500
"""A result of more characters than these is folded up."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --dim: #5c6470; --paper: #fff; --card: #f5f6f8; --line: #d9dde3;
  --user: #0b63b5; --said: #1a7340; --tool: #8250df; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --dim: #9aa4b1; --paper: #14171a; --card: #1d2125;
  --line: #343a41; --user: #6cb2f5; --said: #62c98a; --tool: #c0a0ff; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 60rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
h1, h2 { overflow-wrap: anywhere; } h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
h3 { font-size: .8rem; color: var(--dim); margin: 1.75rem 0 .5rem; text-transform: uppercase; letter-spacing: .06em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
.block { border-left: 3px solid var(--line); background: var(--card); border-radius: 0 6px 6px 0; margin: .5rem 0;
  padding: .5rem .8rem; }
.label { font-size: .8rem; font-weight: 600; color: var(--dim); overflow-wrap: anywhere; }
.user, .system { border-color: var(--user); } .user .label, .system .label { color: var(--user); }
.assistant { border-color: var(--said); } .assistant .label { color: var(--said); }
.call { border-color: var(--tool); } .call .label { color: var(--tool); }
.error { border-color: var(--bad); } .error .label { color: var(--bad); }
pre { margin: .2rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font: .875rem/1.5 ui-monospace, monospace; }
.user pre, .system pre, .assistant pre { font: inherit; }
summary { cursor: pointer; } summary:focus-visible { outline: 2px solid var(--user); outline-offset: 2px; }
"""


def page(title: str, body: str, style: str = "") -> str:
    """A page of its own. ``title`` is plain text, ``body`` is HTML, ``style`` is added to the looks.

    Its policy lets nothing in but these very looks: no script, no request, no other style.
    """
    looks = STYLE + style
    digest = b64encode(sha256(looks.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>{looks}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def transcript_page(record: Exported) -> str:
    """The whole transcript as a page."""
    title = title_of(record)
    return page(title, "\n".join(_body(title, parts_of(record))))


def _body(title: str, parts: list[Part]) -> Iterator[str]:
    yield f"<h1>{escape(title)}</h1>"
    yield "<main>"
    for part in parts:
        if part.title:
            yield f"<h2>{escape(part.title)}</h2>"
        yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in part.facts) + "</dl>"
        for heading, blocks in part.sections():
            yield f"<h3>{heading}</h3>"
            yield from map(block_html, blocks)
    yield "</main>"


def block_html(block: Block) -> str:
    """One entry; reasoning and long results can be unfolded."""
    label, text = f'<span class="label">{escape(block.label)}</span>', f"<pre>{escape(block.text)}</pre>"
    folded = block.kind == "reasoning" or (block.kind in ("result", "error") and len(block.text) > _LONG)
    inner = f"<details><summary>{label}</summary>{text}</details>" if folded else label + text
    return f'<div class="block {block.kind}">{inner}</div>'
