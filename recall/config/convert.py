"""Conversion of plain data (JSON, TOML, keyword arguments) to type-checked settings classes."""

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from recall.errors import BadValueError, UnknownNameError


def from_plain(kind: Any, value: Any, name: str = "") -> Any:
    """Convert `value` to the type `kind`: a mapping to a dataclass, a list to a tuple, etc."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, value, name)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        if value not in arguments:
            raise UnknownNameError(name, value, [str(choice) for choice in arguments])
        return value
    if origin in (typing.Union, types.UnionType):
        return _optional(arguments, value, name)
    if origin is tuple:
        return _tuple(arguments, value, name)
    return _number_or_text(kind, value, name)


def _dataclass(kind: type, value: Any, name: str) -> Any:
    if not isinstance(value, Mapping):
        raise BadValueError(f"{name or kind.__name__} is {value!r}; expected named settings")
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    for key in value:
        if key not in names:
            raise UnknownNameError("setting", key, names)
    return kind(**{key: from_plain(hints[key], item, key) for key, item in value.items()})


def _optional(arguments: tuple[Any, ...], value: Any, name: str) -> Any:
    if value is None and type(None) in arguments:
        return None
    (kind,) = (argument for argument in arguments if argument is not type(None))
    return from_plain(kind, value, name)


def _tuple(arguments: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise BadValueError(f"{name} is {value!r}; expected a list")
    kinds = (arguments[0],) * len(value) if arguments[-1] is ... else arguments
    if len(kinds) != len(value):
        raise BadValueError(f"{name} is {value!r}; expected {len(kinds)} values")
    return tuple(from_plain(kind, item, name) for kind, item in zip(kinds, value, strict=True))


def _number_or_text(kind: Any, value: Any, name: str) -> Any:
    if kind is Any:
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and number:
        return float(value)
    if kind is int and number and value == int(value):  # people write a million as 1e6
        return int(value)
    if kind in (bool, str) and isinstance(value, kind):
        return value
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    raise BadValueError(f"{name} is {value!r}; expected {words.get(kind, kind)}")


def paths(value: Any, above: str = "") -> Iterator[str]:
    """Yield the dotted names of a dataclass's settings, such as `learner.popart.statistics_of`."""
    for field in dataclasses.fields(value):
        path = f"{above}{field.name}"
        inner = getattr(value, field.name)
        if dataclasses.is_dataclass(inner):
            yield from paths(inner, f"{path}.")
        else:
            yield path


def find(name: str, known: list[str]) -> str:
    """Return the only dotted name that ends with `name`."""
    found = [path for path in known if f".{path}".endswith(f".{name}")]
    if len(found) > 1:
        raise BadValueError(f"setting {name!r} is ambiguous; it could be any of {', '.join(found)}")
    if not found:
        raise UnknownNameError("setting", name, [path.rsplit(".", 1)[-1] for path in known])
    return found[0]


def replaced(value: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of a dataclass with the settings at dotted names changed.

    All changes are made at once, so values that are only valid together can be given in any order.
    """
    hints = typing.get_type_hints(type(value))
    new: dict[str, Any] = {}
    below: dict[str, dict[str, Any]] = {}
    for path, item in changes.items():
        first, _, rest = path.partition(".")
        if rest:
            below.setdefault(first, {})[rest] = item
        else:
            new[first] = from_plain(hints[first], item, first)
    inner = {first: replaced(getattr(value, first), items) for first, items in below.items()}
    return dataclasses.replace(value, **new, **inner)


def flattened(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Flatten a nested mapping to dotted names: {"sac": {"discount": 1}} to {"sac.discount": 1}."""
    flat: dict[str, Any] = {}
    for key, item in tree.items():
        if isinstance(item, Mapping):
            flat |= flattened(item, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = item
    return flat
