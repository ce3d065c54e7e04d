"""The one place where settings are merged: defaults < preset < file < explicit arguments.

A setting's name is its own, or any longer end of its dotted path: `hidden`, `network.hidden` and
`learner.network.hidden` are the same setting, and dashes and underscores are alike.
"""

import dataclasses
import itertools
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from recall.config.presets import preset_named
from recall.config.spec import FleetSpec, RunSpec, Sequences, checked_method, make_spec
from recall.errors import BadValueError, UnknownNameError
from recall.files.paths import given_path
from recall.methods import METHODS, Method
from recall.settings import Settings
from recall.settings.checked import from_plain, is_list, replaced
from recall.settings.scalars import scalars

# The default arguments of `train`. A settings file may contain these besides settings.
ARGUMENTS = {"method": "recall", "sequence": "cw3-1", "seeds": (0,), "preset": "default"}


def resolve(
    method: str | Method | None = None,
    sequence: Sequences | None = None,
    seeds: Iterable[int] | None = None,
    preset: str | None = None,
    settings: Settings | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    vary: Mapping[str, Iterable[Any]] | None = None,
) -> FleetSpec:
    """Return the checked spec of a fleet.

    Settings start from `settings` and are changed by the preset, `config` (a file, or a mapping
    like its content) and `changes`, in this order. Arguments that are None are taken from `config`,
    or else from ARGUMENTS. There are runs for every combination of the values in `vary`.
    """
    in_file, from_file = read_config(config) if config is not None else ({}, {})
    by_hand = {"method": method, "sequence": sequence, "seeds": seeds, "preset": preset}
    given: dict[str, Any] = ARGUMENTS | in_file
    given |= {name: value for name, value in by_hand.items() if value is not None}
    start = Settings() if settings is None else from_plain(Settings, settings, "settings")
    chosen, complete = choose(given["method"], start, given["preset"], from_file, changes or {})
    spec = make_spec(chosen, given["sequence"], given["seeds"], complete)
    return _varied(spec, vary) if vary else spec


def _varied(spec: FleetSpec, vary: Mapping[str, Iterable[Any]]) -> FleetSpec:
    """Return the fleet with each of its runs once for every combination of the values."""
    if not isinstance(vary, Mapping):
        raise BadValueError(
            f"vary is {vary!r}: give a dict from settings to the values of each, such as "
            '{"learning_rate": (1e-3, 3e-4)}'
        )
    known, able = paths(_Chosen(spec.method, spec.settings)), scalars(spec)
    values: dict[str, list[Any]] = {}
    for name, given in vary.items():
        path = find(name, known)
        if path not in able:
            names = ", ".join(each.rpartition(".")[2] for each in able)
            raise BadValueError(
                f"{name} cannot vary within a fleet, because it is part of the compiled program: "
                f"train a fleet for each value. These can vary: {names}"
            )
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise BadValueError(f"vary: {name} is {given!r}; expected a list of values")
        if path in values:
            raise BadValueError(f"vary: {name} is given twice; give all its values at once")
        values[path] = list(given)
    runs: dict[str, RunSpec] = {}
    for combination in itertools.product(*values.values()):
        own = scalars(replaced(spec, dict(zip(values, combination, strict=True))))
        if any(own[path] is None for path in values):
            raise BadValueError("vary: None cannot vary with numbers: train a fleet without it")
        for run in spec.runs:
            one = run.with_own({path: own[path] for path in values}, spec.method.name)
            runs[one.name] = one
    if not runs:
        raise BadValueError("vary: a setting has no values; give at least one")
    fleet = dataclasses.replace(spec, runs=tuple(runs.values()))
    return dataclasses.replace(fleet.alone(fleet.runs[0]), runs=fleet.runs)


@dataclass(frozen=True)
class _Chosen:
    """The objects in which names of settings are looked up."""

    method: Method
    settings: Settings


def choose(
    method: str | Method,
    settings: Settings,
    preset: str,
    *changes: Mapping[str, Any],
) -> tuple[Method, Settings]:
    """Return the method and settings after applying a preset and then `changes`, in order.

    Of a method that is given as an object, the preset changes only settings that still have their
    defaults.
    """
    applied = preset_named(preset)
    given, method = method, checked_method(method)
    own = {**applied.every_method, **applied.methods.get(method.name, {})}
    if isinstance(given, Method):
        defaults = {each.name: each.default for each in fields(given)}
        own = {name: value for name, value in own.items() if getattr(given, name) == defaults[name]}
    chosen = _Chosen(method, settings)
    known = paths(chosen)
    merged: dict[str, Any] = {}
    for layer in (own, applied.settings, *changes):
        try:
            merged |= by_path(layer, known)
        except UnknownNameError as error:
            name = str(error.name).removeprefix("method.")
            known_by = {other: {each.name for each in fields(METHODS[other])} for other in METHODS}
            if owners := [other for other, names in known_by.items() if name in names]:
                raise BadValueError(
                    f"{name} is a setting of {', '.join(owners)}; {method.name} does not have it"
                ) from None
            raise
    chosen = replaced(chosen, merged)
    return chosen.method, chosen.settings


def read_config(
    config: str | Path | Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `train` and the settings in a .json or .toml file, or a mapping."""
    content = _plain(config) if isinstance(config, Mapping) else _read_file(config)
    arguments = {
        name: content.pop(name)
        for name in ARGUMENTS
        if name in content and not isinstance(content[name], dict)
    }
    group = content.get("method", {})  # a group of the method's settings may hold its name too
    if "name" in group:
        arguments["method"] = group.pop("name")
    return arguments, content


def _plain(value: Any) -> Any:
    """Return mappings and sequences of any kind as dicts and lists."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if is_list(value) else value


def _read_file(path: str | Path) -> dict[str, Any]:
    path = given_path(path, "config", "file")
    if not path.exists():
        raise BadValueError(f"settings file {path} does not exist")
    readers: dict[str, Callable[[str], Any]] = {".toml": tomllib.loads, ".json": json.loads}
    if path.suffix not in readers:
        raise BadValueError(f"settings file {path}: only .json and .toml files are supported")
    try:
        content: Any = readers[path.suffix](path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadValueError(f"settings file {path} cannot be read: {error}") from error
    except RecursionError:
        raise BadValueError(f"settings file {path} is nested too deeply") from None
    if not isinstance(content, dict):
        raise BadValueError(f"settings file {path} must contain named settings")
    return content


def paths(value: Any) -> list[str]:
    """Return the dotted names of a dataclass's settings, such as `learner.popart.statistics_of`."""
    return list(flattened(dataclasses.asdict(value)))


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
    raise UnknownNameError("setting", spelt, [*own, *ARGUMENTS])


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


def flattened(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Flatten a nested mapping to dotted names: {"sac": {"discount": 1}} to {"sac.discount": 1}."""
    flat: dict[str, Any] = {}
    for key, item in tree.items():
        if isinstance(item, Mapping):
            flat |= flattened(item, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = item
    return flat
