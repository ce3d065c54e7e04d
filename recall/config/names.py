"""Names of settings: a setting's own name, or any longer end of its dotted path.

`hidden`, `network.hidden` and `learner.network.hidden` are the same setting; dashes and underscores
are alike. Files, keyword arguments, options and presets are all looked up here.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from recall.errors import BadValueError, UnknownNameError

BESIDE_SETTINGS = ("method", "sequence", "seeds", "preset")
"""What files and options may give beside settings, and so may be meant by an unknown name."""


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
    spelt = name.replace("-", "_")
    found = [path for path in known if f".{path}".endswith(f".{spelt}")]
    if len(found) > 1:
        raise BadValueError(f"setting {name!r} is ambiguous; it could be any of {', '.join(found)}")
    if found:
        return found[0]
    inside = [path for path in known if f".{spelt}." in f".{path}"]
    if inside:
        raise BadValueError(
            f"{name} is a group of settings; set those in it, such as {spelt}."
            f"{inside[0].rpartition(f'{spelt}.')[2]}"
        )
    own = [path.rsplit(".", 1)[-1] for path in known]
    raise UnknownNameError("setting", spelt, [*own, *BESIDE_SETTINGS])


def by_path(layer: Mapping[str, Any], known: list[str]) -> dict[str, Any]:
    """Return the values of a layer of settings by their full dotted names.

    Raises BadValueError if two names of one setting have different values.
    """
    found: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in flattened(layer).items():
        path = find(name, known)
        if path in found and found[path] != value:
            raise BadValueError(
                f"{names[path]} is {found[path]!r} and {name} is {value!r}, but both name the same "
                "setting; give one of them"
            )
        found[path], names[path] = value, name
    return found


def replaced(value: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of a dataclass with the settings at dotted names changed.

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
