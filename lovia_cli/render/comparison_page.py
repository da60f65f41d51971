"""``lovia compare --html``: both runs on one page, step beside step, with what differs marked."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from lovia_cli.comparing.marks import Marked, Piece, mark_values
from lovia_cli.render.marked import Side
from lovia_cli.render.page import page
from lovia_cli.render.sides import brief, drift_facts, facts, how, label, row_title, step_title, verdict
from lovia_cli.render.terminal import safe
from lovia_cli.render.words import counted

if TYPE_CHECKING:
    from lovia_cli.comparing import Comparison, Drift, Row, Trajectory
    from lovia_cli.comparing.parts import Part
    from lovia_cli.comparing.trajectory import Fork

LONG = 1200
"""A stretch of more characters than these is folded up; one that is the same on both sides but for its ends."""
MOST_LINKS = 40
"""So many differences have a link at the top."""

STYLE = """
:root { --gone: #ffd9d6; --new: #c9f0d1; }
@media (prefers-color-scheme: dark) { :root { --gone: #6b2420; --new: #1d5230; } }
body { max-width: 88rem; padding-top: 0; }
header { padding-top: 1rem; }
section, nav { margin: 0 0 1.5rem; }
dl { grid-template-columns: max-content minmax(0, 1fr); } dd { grid-column: 2; }
h2 { margin-top: 1.25rem; }
h3 { text-transform: none; letter-spacing: 0; font-size: 1rem; color: inherit; margin: 0 0 .4rem; }
a { color: var(--user); }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--user); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { position: static; display: inline-block; margin-top: .5rem; }
.verdict { font-size: 1.1rem; font-weight: 600; margin: .25rem 0 1rem; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .4rem; margin: 0; padding: 0; }
nav a, nav span { display: inline-block; padding: .25rem .6rem; border: 1px solid var(--line); border-radius: 6px; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: .5rem .75rem; }
.heads { position: sticky; top: 0; background: var(--paper); padding: .5rem 0; border-bottom: 1px solid var(--line);
  z-index: 1; font-weight: 600; overflow-wrap: anywhere; }
.row { border: 1px solid var(--line); border-radius: 8px; padding: .7rem .8rem; margin: .75rem 0;
  scroll-margin-top: 3.5rem; }
.row.changed { border-left: 4px solid var(--tool); } .row.removed { border-left: 4px solid var(--bad); }
.row.added { border-left: 4px solid var(--said); }
.row.same { padding: .4rem .8rem; color: var(--dim); } .row.same[open] { color: inherit; }
summary h3 { display: inline; } summary { overflow-wrap: anywhere; }
.badge { font-size: .75rem; font-weight: 600; color: var(--dim); border: 1px solid var(--line); border-radius: 99px;
  padding: .05rem .5rem; margin-left: .3rem; white-space: nowrap; }
.part { margin: .5rem 0; }
.box { background: var(--card); border-radius: 6px; padding: .4rem .7rem; min-width: 0; }
.once { background: none; padding: 0 .7rem; color: var(--dim); display: flex; flex-wrap: wrap; gap: 0 .6rem;
  align-items: baseline; }
.once .text { min-width: 0; } .once .text:has(details) { width: 100%; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; font: .875rem/1.5 ui-monospace, monospace;
  unicode-bidi: plaintext; }
.said .text { font: inherit; }
del { background: var(--gone); color: inherit; text-decoration: line-through; border-radius: 3px; }
ins { background: var(--new); color: inherit; text-decoration: underline; border-radius: 3px; }
.nothing { color: var(--dim); font-style: italic; }
details.fold { display: block; }
details.fold > summary { color: var(--dim); font: .8rem/1.5rem system-ui, sans-serif; }
@media (max-width: 44rem) { .pair { grid-template-columns: minmax(0, 1fr); } .heads, .pair > .nothing { display: none; }
  .row { padding: .6rem; } }
@media print { .skip, nav { display: none; } .heads { position: static; } }
"""


def comparison_page(found: Comparison) -> str:
    """The whole comparison as a page, with all that it has: secrets are to be taken out before."""
    a, b = found.sides
    return page(safe(f"{a.name} and {b.name}", lines=False), "\n".join(_body(found)), STYLE)


def _body(found: Comparison) -> Iterator[str]:
    a, b = found.sides
    first = next((f"#row-{number}" for number, row in enumerate(found.rows) if row.kind != "same"), "#steps")
    yield f'<a class="skip" href="{first}">Skip to the first difference</a>'
    yield f"<header><h1>{_name(a)} and {_name(b)}</h1>"
    yield f'<p class="verdict">{_html(verdict(found)[:1].upper() + verdict(found)[1:])}</p></header>'
    yield "<main>"
    yield from _section("runs", "The runs", _runs(found))
    for trajectory in found.sides:
        if trajectory.fork is not None:
            title = f"What was changed in {_name(trajectory)}"
            yield from _section(f"patch-{'a' if trajectory is a else 'b'}", title, _patch(trajectory.fork))
    if found.drift:
        yield from _section("drift", "Drift", _drift(found.drift))
    yield from _section("steps", "Step by step", _steps(found))
    yield "</main>"


def _section(name: str, title: str, inner: Iterator[str]) -> Iterator[str]:
    """A landmark with its heading; ``title`` is HTML."""
    yield f'<section aria-labelledby="{name}"><h2 id="{name}">{title}</h2>'
    yield from inner
    yield "</section>"


# --- text: all of it is data ------------------------------------------------------------------------------------------


def _html(text: str) -> str:
    """Outside text, its control characters made visible."""
    return escape(safe(text))


def _name(trajectory: Trajectory) -> str:
    return f"<bdi>{_html(trajectory.name)}</bdi>"


def _text(pieces: Marked, side: Side) -> str:
    """Pieces with what differs marked, and long stretches folded up."""
    tag = "del" if side == "a" else "ins"
    return f'<div class="text">{"".join(_piece(text, differs, tag) for text, differs in pieces)}</div>'


def _piece(text: str, differs: bool, tag: str) -> str:
    def marked(some: str) -> str:
        return f"<{tag}>{_html(some)}</{tag}>" if differs and some else _html(some)

    if len(text) <= LONG:
        return marked(text)
    head, tail = text[: LONG // 4], "" if differs else text[-LONG // 4 :]
    inner = text[len(head) : len(text) - len(tail)]
    what = "more characters" if differs else "characters that are the same"
    folded = f'<details class="fold"><summary>{len(inner):,} {what}</summary>{marked(inner)}</details>'
    return marked(head) + folded + marked(tail)


# --- the runs, the patch, the drift -----------------------------------------------------------------------------------


def _runs(found: Comparison) -> Iterator[str]:
    yield '<div class="pair">'
    for sign, side in zip("AB", found.sides, strict=True):
        told = {
            "Run": side.run_id if side.run_id and side.run_id != side.name else "",
            "Session": side.session_id or "",
            "Agent": side.agent,
            "Model": side.model,
            "Work": ", ".join(facts(side)),
            "Forked from": _origin(side.fork),
        }
        rows = "".join(f"<dt>{name}</dt><dd><bdi>{_html(value)}</bdi></dd>" for name, value in told.items() if value)
        yield f'<div class="box"><h3>{sign}: {_name(side)}</h3><dl>{rows}</dl></div>'
    yield "</div>"


def _origin(fork: Fork | None) -> str:
    if fork is None:
        return ""
    return fork.source if fork.step is None else f"{fork.source}, step {fork.step}"


_KINDS = {
    "messages": "the transcript was rewritten",
    "state": "the user state",
    "tool_result": "the result of",
    "input": "an input was added",
}


def _patch(fork: Fork) -> Iterator[str]:
    """Each change with what was there and what is there now."""
    if not fork.patch:
        yield f"<p>{'It is not kept any more.' if fork.patch is None else 'Nothing: it went on as it was.'}</p>"
    for one in fork.patch or ():
        what = _KINDS[one["kind"]] + (f" {one['call']} {one['tool']}" if one["kind"] == "tool_result" else "")
        title = what[:1].upper() + what[1:] if fork.step is None else f"Step {fork.step}: {what}"
        yield f"<h3>{_html(title)}</h3>"
        yield '<div class="pair part">'
        was, now = _as_text(one["was"]), _as_text(one["now"])
        a, b, _ = mark_values(was or "", now or "")
        yield _box("Before", None if was is None else a, "a")
        yield _box("After", None if now is None else b, "b")
        yield "</div>"


def _as_text(value: object) -> str | None:
    from lovia_cli.comparing.values import written

    if isinstance(value, int):
        return counted(value, "entry", "entries")
    return value if value is None or isinstance(value, str) else written(value)


def _drift(drift: Drift) -> Iterator[str]:
    yield "<dl>"
    for name, lines in drift_facts(drift):
        yield f"<dt>{name.capitalize()}</dt>"
        yield from (f"<dd><bdi>{_html(line)}</bdi></dd>" for line in lines)
    yield "</dl>"


# --- steps ------------------------------------------------------------------------------------------------------------


def _steps(found: Comparison) -> Iterator[str]:
    a, b = found.sides
    differing = [(number, row) for number, row in enumerate(found.rows) if row.kind != "same"]
    if len(differing) > 1:
        yield '<nav aria-label="Differences"><ul>'
        yield from (f'<li><a href="#row-{n}">{_html(row_title(row))}</a></li>' for n, row in differing[:MOST_LINKS])
        if len(differing) > MOST_LINKS:
            yield f"<li><span>and {len(differing) - MOST_LINKS:,} more</span></li>"
        yield "</ul></nav>"
    yield f'<div class="pair heads"><div>A: {_name(a)}</div><div>B: {_name(b)}</div></div>'
    for number, row in enumerate(found.rows):
        yield from _same(row, number) if row.kind == "same" else _row(row, number)


def _title(row: Row, number: int) -> str:
    title = step_title(row)
    return f'<h3 id="title-{number}">{title[:1].upper() + title[1:]} <span class="badge">{how(row)}</span></h3>'


def _same(row: Row, number: int) -> Iterator[str]:
    """Closed, until somebody wants to see it."""
    assert row.a is not None
    yield f'<details class="row same" id="row-{number}"><summary>{_title(row, number)} '
    yield f"<bdi>{_html(brief(row.a)[:200])}</bdi></summary>"
    yield from map(_part, row.parts())
    yield "</details>"


def _row(row: Row, number: int) -> Iterator[str]:
    yield f'<article class="row {row.kind}" id="row-{number}" aria-labelledby="title-{number}">'
    yield _title(row, number)
    yield from map(_part, row.parts())
    yield "</article>"


def _part(part: Part) -> str:
    """What is the same once, all else on both sides."""
    said = " said" if part.kind in ("text", "input", "reasoning") else ""
    if part.same:
        text = _text([Piece(text, False) for text, _ in part.a or ()], "a")
        title = _html(label(part, "a").rstrip(": "))
        return f'<div class="part box once{said}"><span class="label">{title}</span>{text}</div>'
    a = _box(f"A {label(part, 'a')}", part.a, "a")
    b = _box(f"B {label(part, 'b')}", part.b, "b")
    return f'<div class="pair part{said}">{a}{b}</div>'


def _box(title: str, pieces: Marked | None, side: Side) -> str:
    if pieces is None:
        return '<div class="box nothing">nothing here</div>'
    return f'<div class="box"><span class="label">{_html(title.rstrip(": "))}</span>{_text(pieces, side)}</div>'
