"""Labels for tables and legends: a method, its preset, and every setting that departs from it.

A label says the same whatever other runs are shown: a run without distillation is never plain
RECALL. The schedule, the length of a retraining, the precision of products, the number of old tasks
in an update and the average of the actor are named only where runs of a method that are shown
together differ in them; the notes below a table name them otherwise.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recall.analysis.departures import (
    DEFAULT,
    departures,
    nearest_preset,
    of_experiment,
    settings_that_matter,
)
from recall.methods import METHODS

_SYMBOLS = {"distillation_weight": "λ", "weight": "λ", "critic_weight": "λ of the critics"}
_ABSENT = {
    "distil": "no distillation",
    "distil_critics": "critics not distilled",
    "normalise_targets": "no normalisation",
    "best_return": "no best-return start",
    "average_actor": "no average actor",
    "clip_norm": "no clipping",
}
_PRESENT = {"normalise_targets": "normalised", "best_return": "best-return start"}
_HEADS = {
    ("actor_heads", "separate"): "separate actors",
    ("critic_heads", "separate"): "separate critics",
    ("actor_heads", "shallow"): "shared actor",
    ("critic_heads", "shallow"): "linear critic heads",
    ("critic_heads", "deep"): "deep critic heads",
}


@dataclass(frozen=True)
class Variant:
    """How a run's settings depart from its method's own."""

    preset: str = DEFAULT
    """The preset that the settings are nearest to."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The settings that differ from the preset's, and those that set runs apart."""


def variants(method: str, runs: Sequence[Mapping[str, Any]]) -> list[Variant]:
    """Return how each run of a method, given by its settings, departs from the method's own.

    `runs` are shown together: settings of the experiment that differ among them count too.
    """
    if method not in METHODS:
        return differing(runs)
    presets = [nearest_preset(method, settings) for settings in runs]
    departed = [
        departures(method, settings, preset) for settings, preset in zip(runs, presets, strict=True)
    ]
    varying = _varying(runs, departed)
    found = []
    for preset, changes in zip(presets, departed, strict=True):
        own = {name: value for name, value in changes.items() if not of_experiment(name)}
        apart = {name: changes[name] for name in varying if name in changes}
        found.append(Variant(preset, own | apart))
    return found


def differing(runs: Sequence[Mapping[str, Any]]) -> list[Variant]:
    """Return the settings in which runs differ from each other, where no preset is known."""
    compared = [settings_that_matter(settings) for settings in runs]
    names = dict.fromkeys(name for settings in compared for name in settings)
    varying = [name for name in names if len({str(each.get(name)) for each in compared}) > 1]
    return [
        Variant(changes={name: settings[name] for name in varying if name in settings})
        for settings in runs
    ]


def _varying(runs: Sequence[Mapping[str, Any]], departed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the settings that differ among the runs and that no preset explains."""
    compared = [settings_that_matter(settings) for settings in runs]
    names = dict.fromkeys(name for found in departed for name in found)
    return [name for name in names if len({str(each.get(name)) for each in compared}) > 1]


def settings_in_words(changes: Mapping[str, Any]) -> str:
    """Return settings and their values as the text of a label."""
    return ", ".join(_one_in_words(name.rpartition(".")[2], changes[name]) for name in changes)


def _one_in_words(name: str, value: Any) -> str:
    spaced = name.replace("_", " ")
    if name == "steps_per_task":
        return f"{_short(value)} {spaced}"
    if value is False or (value is None and name in _ABSENT):
        return _ABSENT.get(name, f"no {spaced}")
    if value is True:
        return _PRESENT.get(name, spaced)
    if isinstance(value, str) and (name, value) in _HEADS:
        return _HEADS[name, value]
    return f"{_SYMBOLS.get(name, spaced)} {_short(value)}"


def method_label(method: str) -> str:
    """Return a method's label in the registry, or its name if it is not registered."""
    return METHODS[method].label if method in METHODS else method


def label_of(method: str, variant: str = "", preset: str = DEFAULT) -> str:
    """Return the label of a run in tables and figures."""
    parts = [method_label(method)]
    parts += [f"preset {preset}"] if preset != DEFAULT else []
    parts += [variant] if variant else []
    return ", ".join(parts)


def order_of(method: str, variant: str) -> tuple[Any, ...]:
    """Return a sort key for labels: methods as in the registry, variants last, numbers by size."""
    names = list(METHODS)
    place = names.index(method) if method in names else len(names)
    parts = re.split(r"(\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?)", variant)
    # Every second part is a number.
    return (
        place,
        method,
        [
            (float(part.replace(",", "")), "") if odd % 2 else (0.0, part)
            for odd, part in enumerate(parts)
        ],
    )


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "x".join(map(_short, value))
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return "none" if value is None else str(value).replace("_", " ")
