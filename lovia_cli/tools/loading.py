"""Finding the function that an agent file names: ``./tools.py:charge_card`` or ``package.module:function``."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from lovia_cli.errors import AgentFileError
from stores.values import exception_text

_OURS = frozenset({"lovia_cli", "stores"})
_folders: set[Path] = set()
"""The folders of agent files that modules were imported from in this process."""


def load_function(reference: str, base_dir: Path) -> Callable[..., Any]:
    """The callable that ``reference`` names, its file imported once per process.

    A path is relative to ``base_dir``, the agent file's folder, and is imported under a name of its own:
    a ``tools.py`` in each of two folders are two modules. A dotted module is looked for in ``base_dir``
    first. Modules beside the file are found by ``import helpers`` and by ``from . import helpers``. When
    the folders of one process have helpers of one name, each file gets its own at import; an ``import
    helpers`` inside a function finds the one imported last, ``from . import helpers`` always its own.
    What a module prints while it is imported goes to stderr.

    Raises `AgentFileError` for everything that is wrong with it, with the line of the file.
    """
    source, colon, attribute = reference.rpartition(":")
    if not (source and colon and attribute):
        raise AgentFileError(f"{reference!r} names no function", hint="write ./tools.py:function or module:function")
    base_dir = base_dir.resolve()
    is_file = source.endswith(".py") or "/" in source
    module = _import_file(base_dir / source, source) if is_file else _import_module(source, base_dir)
    return _attribute(module, attribute, source)


def _import_file(path: Path, shown: str) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise AgentFileError(f"there is no file {shown}", where=str(path), hint="paths start at the agent file")
    package = "_lovia_tools_" + hashlib.sha256(str(path.parent).encode(errors="surrogateescape")).hexdigest()[:16]
    name = f"{package}.{path.stem.replace('.', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    parent = sys.modules.setdefault(package, ModuleType(package))
    parent.__path__ = [str(path.parent)]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AgentFileError(f"{shown} is no Python file", where=str(path), hint="give it the ending .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importing(path.parent, shown, path):
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _import_module(name: str, base_dir: Path) -> ModuleType:
    with _importing(base_dir, name, base_dir.joinpath(*name.split("."))):
        return importlib.import_module(name)


@contextlib.contextmanager
def _importing(folder: Path, shown: str, path: Path) -> Iterator[None]:
    """An import with ``folder`` in front of the path; afterwards it stands last, for imports inside functions."""
    importlib.invalidate_caches()
    _forget_namesakes(folder)
    _folders.add(folder)
    entry = str(folder)
    was_there = entry in sys.path
    sys.path.insert(0, entry)
    try:
        with contextlib.redirect_stdout(sys.stderr), _interrupts() as interrupted:
            yield
    except SystemExit as error:
        raise _failed(f"it calls sys.exit({error.code!r})", error, shown, path) from error
    except ModuleNotFoundError as error:
        if error.name and f"{shown}.".startswith(f"{error.name}."):
            raise AgentFileError(f"there is no module {shown}", where=entry, hint="is it installed here?") from error
        raise _failed(exception_text(error), error, shown, path, hint=_install(error)) from error
    except Exception as error:
        raise _failed(exception_text(error), error, shown, path) from error
    except BaseException as error:
        if interrupted:
            raise
        raise _failed(f"it raises {type(error).__name__}", error, shown, path) from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(entry)
        if not was_there:
            sys.path.append(entry)


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """The signals of Ctrl-C that come meanwhile: a `KeyboardInterrupt` without one is the module's own."""
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield came
        return
    handler = before

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield came
    finally:
        if signal.getsignal(signal.SIGINT) is note:  # else the module has one of its own
            signal.signal(signal.SIGINT, before)


def _forget_namesakes(folder: Path) -> None:
    """Drop the modules of other agents' folders whose names ``folder`` has too; who uses them keeps them."""
    if not folder.is_dir():
        return
    own = {path.stem if path.suffix == ".py" else path.name for path in folder.iterdir()} - _OURS
    foreign = {name for name in own if _folder_of(sys.modules.get(name)) in _folders - {folder}}
    for name in [name for name in sys.modules if name.partition(".")[0] in foreign]:
        del sys.modules[name]


def _folder_of(module: ModuleType | None) -> Path | None:
    """The folder that a top-level module or package was found in."""
    packages = list(getattr(module, "__path__", ()))
    place = packages[0] if packages else getattr(module, "__file__", None)
    return Path(place).parent if place else None


def _failed(why: str, error: BaseException, shown: str, path: Path, hint: str | None = None) -> AgentFileError:
    return AgentFileError(
        f"importing {shown} failed: {why}",
        where=_line(error, path),
        hint=hint or "correct the module; lovia imports it to find the function",
    )


def _install(error: ModuleNotFoundError) -> str | None:
    return f"install {error.name} in the environment that lovia runs in" if error.name else None


def _line(error: BaseException, path: Path) -> str:
    """The file and line to look at: of a syntax error, else the deepest one beside or below ``path``."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if frame.filename == str(path):
            return f"{frame.filename}:{frame.lineno}"
    for frame in reversed(frames):
        if Path(frame.filename).is_relative_to(path.parent):
            return f"{frame.filename}:{frame.lineno}"
    return str(path)


def _attribute(module: ModuleType, attribute: str, shown: str) -> Callable[..., Any]:
    where = getattr(module, "__file__", None)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            public = [name for name, known in vars(value).items() if callable(known) and not name.startswith("_")]
            near = difflib.get_close_matches(part, public, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has: {', '.join(public) or 'no function'}"
            raise AgentFileError(f"{shown} has no function {attribute}", where=where, hint=hint)
        value = getattr(value, part)
    if not callable(value):
        raise AgentFileError(f"{attribute} in {shown} is a {type(value).__name__}, not a function", where=where)
    function: Callable[..., Any] = value
    return function
