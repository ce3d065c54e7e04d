"""Presets and the order in which settings apply: defaults < preset < file < explicit arguments.

A setting is given by its name (`steps_per_task`) or by any longer end of its dotted path
(`popart.statistics_of`). The method's settings and all others are named in the same way.
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
    """A named set of changes to the defaults."""

    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    every_method: Mapping[str, Any] = field(default_factory=dict)
    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


PRESETS = {
    "default": Preset(
        "The paper's method, with the changes that it needs to learn the robot tasks."
    ),
    "paper": Preset(
        "As in the paper, where the default differs (docs/fidelity.md lists what still differs).",
        settings={
            "activation": "relu",
            "bias_corrected": False,
            "initial_log_alpha": 1.0,
            "bound_targets": False,
        },
        methods={"recall": {"distil_critics": False, "average_actor": None}},
    ),
    "authors": Preset(
        "As in the authors' code, as far as there are settings for it (docs/fidelity.md).",
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
    "laptop": Preset(
        "Smaller networks and fewer updates: easy robot tasks in minutes on two cores.",
        settings={
            "hidden": (128, 128, 128),
            "head_layers": 2,
            "updates_per_burst": 25,
            "steps_per_task": 60_000,
            "random_steps": 4_000,
            "evaluate_every": 10_000,
        },
        every_method={"batch_size": 64, "old_batch_size": 64},
        methods={
            "recall": {"average_actor": 0.005},
            "perfect_memory": {"batch_size": 128},
            "packnet": {"retraining_updates": 6_000},
        },
    ),
}


def preset_named(name: str) -> Preset:
    """Return the preset called `name`."""
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return PRESETS[name]


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

    A method that is given as an object keeps its settings: the method settings of a preset apply
    only to methods that are given by name.
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


# The default arguments of `train`. A settings file may contain these besides settings.
ARGUMENTS = {"method": "recall", "sequence": "cw3-1", "seeds": (0,), "preset": "default"}


def read_config(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a .json or .toml file; return the arguments of `train` in it and the settings."""
    path = Path(path)
    if not path.exists():
        raise BadValueError(f"settings file {path} does not exist")
    try:
        if path.suffix == ".toml":
            content: Any = tomllib.loads(path.read_text())
        elif path.suffix == ".json":
            content = json.loads(path.read_text())
        else:
            raise BadValueError(f"settings file {path}: only .json and .toml files are supported")
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadValueError(f"settings file {path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise BadValueError(f"settings file {path} must contain named settings")
    arguments = {
        name: _argument(name, content.pop(name))
        for name in ARGUMENTS
        if name in content and not isinstance(content[name], dict)
    }
    return arguments, content


def _argument(name: str, value: Any) -> Any:
    """Convert one of ARGUMENTS to the type that `train` takes."""
    if name == "seeds":
        return from_plain(tuple[int, ...], value, name)
    if name == "sequence" and isinstance(value, list):
        return list(from_plain(tuple[str, ...], value, name))
    return from_plain(str, value, name)
