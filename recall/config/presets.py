"""Presets, as data, and how settings are chosen: defaults < preset < file < what is given by hand.

A setting goes by its name (`steps_per_task`) or any longer end of its path
(`popart.statistics_of`); those of the method and of everything else are named alike.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recall.config.convert import find, flattened, from_plain, paths, replaced
from recall.errors import BadValueError, UnknownNameError
from recall.methods import Method, method_class
from recall.settings import Settings


@dataclass(frozen=True)
class Preset:
    """Named departures from the defaults."""

    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    every_method: Mapping[str, Any] = field(default_factory=dict)
    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


PRESETS = {
    "default": Preset("The paper's method with what it takes to learn the robots."),
    "paper": Preset(
        "The paper's text where the default departs from it (docs/fidelity.md says what is left).",
        settings={
            "activation": "relu",
            "bias_corrected": False,
            "initial_log_alpha": 1.0,
            "bound_targets": False,
        },
        methods={"recall": {"distil_critics": False, "average_actor": None}},
    ),
    "authors": Preset(
        "Where the authors' code departs from their paper and a setting exists (docs/fidelity.md).",
        settings={
            "activation": "leaky_relu",
            "popart.statistics_of": "normalised",
            "bias_corrected": False,
            "initial_log_alpha": 1.0,
            "bound_targets": False,
        },
        methods={
            "recall": {
                "old_weight": "per_task",
                "distil_critics": False,
                "average_actor": None,
            }
        },
    ),
    "quick": Preset(
        "Small networks and few steps, for pointworld and for trying things out.",
        settings={
            "hidden": (64, 64),
            "head_layers": 1,
            "initial_log_alpha": -2.0,
            "steps_per_task": 3_000,
            "update_after": 100,
            "random_steps": 500,
            "evaluate_every": 500,
            "record_every": 500,
            "scoring_episodes": 5,
        },
        every_method={"batch_size": 64, "old_batch_size": 64},
        methods={
            "recall": {"average_actor": 0.01},
            "perfect_memory": {"batch_size": 128},
            "packnet": {"retraining_updates": 600},
        },
    ),
}


def preset_named(name: str) -> Preset:
    """The preset called `name`."""
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return PRESETS[name]


@dataclass(frozen=True)
class _Chosen:
    """What the names of settings are looked up in."""

    method: Method
    settings: Settings


def choose(
    method: str | Method,
    settings: Settings,
    preset: str,
    *changes: Mapping[str, Any],
) -> tuple[Method, Settings]:
    """Method and settings after a preset and then `changes`, later ones last.

    A method that comes with its own settings keeps them: a preset changes named methods only.
    """
    applied = preset_named(preset)
    layers = [applied.settings, *changes]
    if isinstance(method, str):
        layers = [applied.every_method, applied.methods.get(method, {}), *layers]
        method = method_class(method)()
    chosen = _Chosen(method, settings)
    known = list(paths(chosen))
    merged: dict[str, Any] = {}
    for layer in layers:
        merged |= {find(name, known): value for name, value in flattened(layer).items()}
    chosen = replaced(chosen, merged)
    return chosen.method, chosen.settings


# What `train` trains, unless it is told; a settings file may say these besides settings.
ARGUMENTS = {"method": "recall", "sequence": "cw3-1", "seeds": (0,), "preset": "default"}


def read_config(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A .json or .toml file: the arguments of `train` in it, and the settings."""
    path = Path(path)
    if not path.exists():
        raise BadValueError(f"there is no settings file {path}")
    try:
        if path.suffix == ".toml":
            content: Any = tomllib.loads(path.read_text())
        elif path.suffix == ".json":
            content = json.loads(path.read_text())
        else:
            raise BadValueError(f"settings file {path}: only .json and .toml are read")
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadValueError(f"settings file {path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise BadValueError(f"settings file {path} holds no names")
    arguments = {
        name: _argument(name, content.pop(name))
        for name in ARGUMENTS
        if name in content and not isinstance(content[name], dict)
    }
    return arguments, content


def _argument(name: str, value: Any) -> Any:
    """One of ARGUMENTS, of the type that `train` takes."""
    if name == "seeds":
        return from_plain(tuple[int, ...], value, name)
    if name == "sequence" and isinstance(value, list):
        return list(from_plain(tuple[str, ...], value, name))
    return from_plain(str, value, name)
