"""A registry of names that installed packages can add to with entry points."""

import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from recall.errors import RecallError
from recall.plugins import remember

Value = TypeVar("Value")


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
