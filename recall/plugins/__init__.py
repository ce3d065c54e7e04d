"""Plug-ins: modules of other people that register methods, worlds or figures when imported.

They are loaded only when somebody names them, or found as entry points of installed packages.
"""

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from recall.errors import BadValueError, RecallError

Value = TypeVar("Value")

HOW_TO_IMPORT = (
    "One of your own has to be imported first: --plugin with its module or file on the command "
    "line, recall.load_plugin in Python."
)
_DIGITS = 12
# Modules loaded as plug-ins, and the files of those that were loaded by file.
_loaded: dict[str, Path | None] = {}
# Digests of their source code, by which a changed plug-in is noticed.
_digests: dict[str, str] = {}


def load_plugin(source: str | Path) -> ModuleType:
    """Import a plug-in, given as a module's name or as a .py file, and return its module.

    The folder of a file is added to the end of Python's search path, so that worker processes find
    the module too.
    """
    path = Path(source).resolve() if str(source).endswith(".py") else None
    if path is not None and not path.is_file():
        raise BadValueError(f"plug-in {source}: there is no such file")
    if path is not None and str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    name = str(source) if path is None else path.stem
    if name.startswith("."):  # Python would take it for a name relative to a package
        raise BadValueError(f"plug-in {source}: give a file with its .py")
    try:
        module = import_module(name)
    except (ImportError, SyntaxError, ValueError) as error:
        raise BadValueError(
            f"plug-in {source} cannot be imported: {error}; give a module that Python finds, or a "
            "file with its .py"
        ) from error
    if path is not None and (module.__file__ is None or Path(module.__file__).resolve() != path):
        raise BadValueError(
            f"plug-in {source}: Python already knows another module called {name!r} "
            f"({module.__file__}); rename the file"
        )
    _loaded[name] = path or _loaded.get(name)
    remember(name)
    return module


def note(module: str) -> None:
    """Remember a module that registers something, however it was imported."""
    if module != "__main__" and not module.startswith("recall."):
        _loaded.setdefault(module, None)
        remember(module, anew=True)


def loaded() -> list[str]:
    """Return the plug-ins of this process as they can be named again: modules or files."""
    return [module if path is None else str(path) for module, path in _loaded.items()]


def remember(module: str, anew: bool = False) -> None:
    """Take the digest of a plug-in's files once, when it is imported: later edits are not loaded.

    A module in a package stands for the whole package, whose other modules it may use. `anew` is
    for code that has just been run again.
    """
    name = module.partition(".")[0]
    path = Path(getattr(sys.modules.get(name), "__file__", None) or "")
    if not path.is_file() or name in ("recall", "__main__") or (name in _digests and not anew):
        return
    digest = hashlib.sha256()
    if path.name == "__init__.py":
        for each in sorted(path.parent.rglob("*.py")):
            digest.update(f"{each.relative_to(path.parent).as_posix()}\0".encode())
            digest.update(each.read_bytes())
    else:
        digest.update(path.read_bytes())
    _digests[name] = digest.hexdigest()[:_DIGITS]


def sources() -> dict[str, dict[str, str]]:
    """Return the digest of every plug-in of this process."""
    return {name: {"source": digest} for name, digest in _digests.items()}


class Registry(MutableMapping[str, Value]):
    """Values by name, in the order of registration; then those of installed packages.

    A package adds one with an entry point of the `group`, such as `recall.methods`, whose name is
    the registered name. It is loaded when its name is asked for, or when all names are listed.
    """

    def __init__(self, group: str, known: Mapping[str, Value], check: Callable[[str, Any], Value]):
        """`check` receives what an entry point names, and returns the value or raises an error."""
        self._group, self._check = group, check
        self._known = dict(known)
        self._all_loaded = False

    def __getitem__(self, name: str) -> Value:
        if name not in self._known:
            for point in entry_points(group=self._group, name=name):
                self._load(point)
        return self._known[name]

    def _load(self, point: Any) -> None:
        try:
            self._known[point.name] = self._check(point.name, point.load())
            remember(point.module)
        except Exception as error:
            package = point.dist.name if point.dist else "an installed package"
            raise RecallError(
                f"{point.name} of {package} (entry point {point.value} in {self._group}) cannot be "
                f"loaded: {type(error).__name__}: {error}"
            ) from error

    def __iter__(self) -> Iterator[str]:
        if not self._all_loaded:
            self._all_loaded = True
            for point in entry_points(group=self._group):
                try:
                    if point.name not in self._known:
                        self._load(point)
                except RecallError as error:  # the others can be used all the same
                    warnings.warn(str(error), stacklevel=2)
        return iter(list(self._known))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __setitem__(self, name: str, value: Value) -> None:
        self._known[name] = value

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def known(self) -> dict[str, Value]:
        """Return what is registered so far, without looking at installed packages."""
        return dict(self._known)
