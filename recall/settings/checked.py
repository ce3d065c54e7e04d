"""Settings that check themselves: values are converted to their declared types when they are set.

A type may carry bounds, `Annotated[float, Range(above=0)]`.
"""

import contextlib
import dataclasses
import functools
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from numbers import Real
from pathlib import Path
from typing import Any

from recall.errors import BadValueError, UnknownNameError

# Learners count in 32-bit integers and compute in 32-bit floats.
LARGEST_WHOLE = 2**31 - 1
_LARGEST, _SMALLEST = 3.4e38, 1.2e-38
T = typing.TypeVar("T")
_EXPECTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class Words(tuple[str, ...]):
    """The words that follow an option on the command line, not yet converted to a type."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(" ".join(self))


@dataclass(frozen=True)
class Range:
    """The bounds of a number, for use in `Annotated`."""

    above: float | None = None
    least: float | None = None
    most: float | None = None

    def __contains__(self, value: float) -> bool:
        above = self.above is None or value > self.above
        least = self.least is None or value >= self.least
        return above and least and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        texts = {"above": self.above, "of at least": self.least, "at most": self.most}
        bounds = [f"{word} {bound:g}" for word, bound in texts.items() if bound is not None]
        return " and ".join(bounds)


Count = typing.Annotated[int, Range(least=1)]
NotNegative = typing.Annotated[float, Range(least=0)]
Positive = typing.Annotated[float, Range(above=0)]
Share = typing.Annotated[float, Range(above=0, most=1)]
Portion = typing.Annotated[float, Range(least=0, most=1)]


@dataclass(frozen=True)
class Checked:
    """Base class of frozen settings, whose fields are converted and checked on creation."""

    def __post_init__(self) -> None:
        """Convert every field to its type, or raise an error that names it."""
        own: Any = type(self)
        for name, kinds in fields_of(own).items():
            value = getattr(self, name)
            for kind in kinds:
                value = from_plain(kind, value, name)
            object.__setattr__(self, name, value)


@functools.cache
def fields_of(kind: Any) -> dict[str, list[Any]]:
    """Return the types of every field; the bounds of a base class hold in its subclasses too."""
    found: dict[str, list[Any]] = {}
    for each in (base for base in kind.__mro__ if dataclasses.is_dataclass(base)):
        hints = typing.get_type_hints(each, include_extras=True)
        for field in dataclasses.fields(each):
            if hints[field.name] not in found.setdefault(field.name, []):
                found[field.name].append(hints[field.name])
    return found


def from_plain(kind: Any, value: Any, name: str = "") -> Any:
    """Convert `value` to the type `kind`: a mapping to a dataclass, a list to a tuple, etc."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, name)
    if origin is typing.Annotated:
        converted = from_plain(arguments[0], value, name)
        for bounds in arguments[1:]:
            if isinstance(bounds, Range) and converted not in bounds:
                expected = f"{_EXPECTED[arguments[0]]} {bounds}"
                raise BadValueError(f"{name} is {converted!r}; expected {expected}")
        return converted
    if origin is typing.Literal:
        return _literal(arguments, value, name)
    if origin in (typing.Union, types.UnionType):
        if value is None or (isinstance(value, Words) and value in (("None",), ("none",))):
            return None
        (kind,) = (argument for argument in arguments if argument is not types.NoneType)
        return from_plain(kind, value, name)
    return _tuple(arguments, value, name) if origin is tuple else _simple(kind, value, name)


def _dataclass(kind: type, value: Any, name: str) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise BadValueError(f"{name or kind.__name__} is {value!r}; expected named settings")
    names = [field.name for field in dataclasses.fields(kind)]
    for key in value:
        if key not in names:
            raise UnknownNameError("setting", key, names)
    return kind(**value)


def _literal(choices: tuple[Any, ...], value: Any, name: str) -> Any:
    word = _only(value, name)
    if isinstance(word, Mapping) or is_list(word):
        raise BadValueError(f"{name} is {word!r}; expected one of {', '.join(map(repr, choices))}")
    spelt = word.replace("-", "_") if isinstance(word, str) else word
    for choice in choices:
        if choice in (word, spelt):
            return choice
    raise UnknownNameError(name, word, [str(choice) for choice in choices])


def _tuple(arguments: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    if not is_list(value):
        raise BadValueError(f"{name} is {value!r}; expected a list")
    first = typing.get_args(arguments[0]) or arguments  # without the notes of Annotated
    if isinstance(value, Words) and first[0] in (int, float):
        value = Words(part for word in value for part in word.removesuffix(",").split(","))
    kinds = (arguments[0],) * len(value) if arguments[-1] is ... else arguments
    if len(kinds) != len(value):
        raise BadValueError(f"{name} is {value!r}; expected {len(kinds)} values")
    items = [Words((word,)) for word in value] if isinstance(value, Words) else value
    return tuple(from_plain(kind, item, name) for kind, item in zip(kinds, items, strict=True))


def is_list(value: object) -> bool:
    """Return True for sequences of any kind, OmegaConf's too, but not for texts."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _simple(kind: Any, value: Any, name: str) -> Any:
    if isinstance(value, Words):
        value = True if kind is bool and not value else _from_word(kind, _only(value, name))
    if kind in (int, float) and isinstance(value, Real | Decimal) and not isinstance(value, bool):
        return _number(kind, value, name)
    if kind is Any or (kind not in (int, float) and isinstance(value, kind)):
        return value
    if kind is Path and isinstance(value, str):
        return Path(value)
    expected = _EXPECTED.get(kind, getattr(kind, "__name__", kind))
    raise BadValueError(f"{name} is {value!r}; expected {expected}")


def _only(value: Any, name: str) -> Any:
    """Return the only one of some words, or a value that is not words."""
    if isinstance(value, Words) and len(value) != 1:
        raise BadValueError(f"{name} is {value!r}; expected one value")
    return value[0] if isinstance(value, Words) else value


def _from_word(kind: Any, word: str) -> Any:
    """Convert a word to a number or a truth value, if it reads like one."""
    if kind is bool:
        return {"true": True, "false": False}.get(word.lower(), word)
    if kind in (int, float):
        with contextlib.suppress(InvalidOperation):
            number = Decimal(word)  # exact for large whole numbers, also if written as 1e6
            return number if number.is_finite() else word
    return word


def _number(kind: type, value: Any, name: str) -> int | float:
    if kind is int:
        if not abs(value) <= LARGEST_WHOLE or value != int(value):
            raise BadValueError(
                f"{name} is {value}; expected a whole number of at most {LARGEST_WHOLE:,}"
            )
        return int(value)
    if value and not _SMALLEST <= abs(value) <= _LARGEST:
        raise BadValueError(
            f"{name} is {value}; expected a number that fits into 32 bits: 0, or from {_SMALLEST} "
            f"to {_LARGEST} in size"
        )
    return float(value)


def replaced(settings: T, changes: Mapping[str, Any], copy: Any = dataclasses.replace) -> T:
    """Return a copy of a tree of settings with those at dotted names changed.

    All changes are made at once, so values that are only valid together can be given in any order.
    """
    new: dict[str, Any] = {}
    below: dict[str, dict[str, Any]] = {}
    for path, item in changes.items():
        first, _, rest = path.partition(".")
        if rest:
            below.setdefault(first, {})[rest] = item
        else:
            new[first] = item
    inner = {
        first: replaced(getattr(settings, first), items, copy) for first, items in below.items()
    }
    return copy(settings, **new, **inner)


def given_texts(value: object, name: str) -> tuple[str, ...]:
    """Return the texts that the argument `name` gives, whether it is one or several."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return tuple(from_plain(str, each, name) for each in value)
    return (from_plain(str, value, name),)
