"""Settings that are arguments of the compiled learner, not constants in it.

A setting that only takes part in arithmetic is declared with `Annotated[float, SCALAR]`. Runs of
one fleet may each have their own value. In compiled functions it is an array, on which Python's
`if` does not work; None and 0 stay constants, which `applies` tells apart.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from recall.settings.checked import fields_of, replaced

SCALAR = "scalar"
T = TypeVar("T")


def applies(value: Any) -> bool:
    """Return False if a setting is None or 0; an array, whose value is not known, applies."""
    return value is not None and not (isinstance(value, int | float) and value == 0)


def scalars(settings: Any, above: str = "") -> dict[str, Any]:
    """Return the values of all scalars in a tree of settings by their dotted names."""
    found: dict[str, Any] = {}
    kind: Any = type(settings)
    for name, kinds in fields_of(kind).items():
        value = getattr(settings, name)
        if dataclasses.is_dataclass(value):
            found |= scalars(value, f"{above}{name}.")
        elif any(SCALAR in getattr(each, "__metadata__", ()) for each in kinds):
            found[f"{above}{name}"] = value
    return found


def with_scalars(settings: T, values: Mapping[str, Any]) -> T:
    """Return a copy of a tree of settings with other scalars, which are not checked."""
    return replaced(settings, values, _unchecked)


def _unchecked(settings: Any, /, **changes: Any) -> Any:
    copy = object.__new__(type(settings))
    for field in dataclasses.fields(settings):
        value = changes.get(field.name, getattr(settings, field.name))
        object.__setattr__(copy, field.name, value)
    return copy
