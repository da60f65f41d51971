"""The house's rules about source text, as functions that give the breaches they find (see test_architecture.py)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("lovia_cli", "stores")

LAYERS = [
    {"cli", "render", "templates", "__main__"},
    {"wiring", "settings", "exits"},
    {"engine", "agentfile", "comparing"},
    {"agent", "hooks", "tools", "models"},
    {"errors", "environment", "yamlfile"},
]
"""The parts of lovia_cli from top to bottom: each imports its own layer and those below, and all import stores."""

STRANGERS = {("engine", "agentfile"), ("agentfile", "engine")}
"""Parts of one layer that do not know each other: (importer, imported)."""

BACKENDS = ("file", "memory", "sqlite", "postgres")
PROVIDERS = ("scripted", "openai", "anthropic")
LONGEST_MODULE, LONGEST_FUNCTION = 350, 60


def sources() -> Iterator[tuple[str, str]]:
    """Each module of the packages by its dotted name, with its text."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts), path.read_text(encoding="utf-8")


def imports(module: str, source: str) -> Iterator[tuple[int, str]]:
    """Every import of the source, also inside functions and by name: its line and the dotted name it asks for."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = ".".join(module.split(".")[: -node.level]) if node.level else ""
            base = ".".join(part for part in (home, node.module) if part)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            yield from ((node.lineno, arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant))


def wrong_arrows(module: str, source: str) -> list[str]:
    """The imports that point the wrong way."""
    found = []
    for line, target in imports(module, source):
        if reason := _wrong(module, target):
            found.append(f"{module}:{line} imports {target}: {reason}")
    return found


def too_long(module: str, source: str) -> list[str]:
    """The module, if it holds more than one noun can, and its functions that do more than one thing."""
    lines = len(source.splitlines())
    found = [f"{module} has {lines} lines"] if lines > LONGEST_MODULE else []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                found.append(f"{module}:{node.lineno} {node.name} has {length} lines")
    return found


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _wrong(module: str, target: str) -> str | None:
    """Why ``module`` may not import ``target``, or None."""
    if target.split(".")[0] not in PACKAGES:
        return None
    package, part = module.split(".")[0], module.removesuffix(".__init__").partition(".")[2].split(".")[0]
    wanted, other = _place(target)
    if package == "stores":
        return _wrong_in_stores(part, wanted, other) or _wrong_doctor(module, target)
    if wanted == "stores":
        named = other in BACKENDS and part not in ("wiring", "")
        return "only wiring names a concrete store" if named else None
    return _wrong_in_lovia(part, other, target)


def _wrong_in_stores(part: str, wanted: str, other: str) -> str | None:
    if wanted == "lovia_cli":
        return "stores knows nothing of lovia_cli"
    if other in BACKENDS and other != part:
        return "a backend is named by nobody in stores"
    if other == "conformance" and part != "conformance":
        return "the contract's tests are for tests"
    return None


def _wrong_doctor(module: str, target: str) -> str | None:
    """A backend's ``doctor`` folder knows the backend, which does not know it."""
    asks, is_asked = (name.split(".")[2:3] == ["doctor"] for name in (module, target))
    return "a store does not know its doctor" if is_asked and not asks else None


def _wrong_in_lovia(part: str, other: str, target: str) -> str | None:
    if part == "":
        return None  # lovia_cli/__init__.py is the public face
    if other == "":
        return None if target == "lovia_cli.__version__" else "the public face is for callers"
    if part not in (known := {name: level for level, names in enumerate(LAYERS) for name in names}):
        return f"{part} has no layer; give it one in tests/architecture.py"
    if other not in known:
        return f"{other} has no layer; give it one in tests/architecture.py"
    if known[other] < known[part]:
        return f"{part} stands below {other}"
    if (part, other) in STRANGERS:
        return f"{part} and {other} do not know each other"
    if other == "models" and part not in ("models", "wiring") and target.split(".")[2:3][0].startswith(PROVIDERS):
        return "only wiring names a concrete model"
    return None


def _place(dotted: str) -> tuple[str, str]:
    """Package and part of an imported name: ``lovia_cli.engine.loop`` is of the part ``engine``.

    The part is empty for a package itself, and for a name it defines: ``lovia_cli.__version__``.
    """
    package, _, rest = dotted.partition(".")
    part = rest.split(".")[0]
    stored = bool(part) and ((ROOT / package / part).is_dir() or (ROOT / package / f"{part}.py").is_file())
    return package, part if stored or part in BACKENDS else ""
