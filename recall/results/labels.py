"""Short labels for tables and legends, which tell apart the variants of one method."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from recall.config.names import flattened
from recall.methods import METHODS
from recall.settings import Settings

# These settings do not affect what is learnt, so they do not make a variant.
_NO_MATTER = frozenset(
    f"schedule.{name}"
    for name in ("workers", "checkpoint_minutes", "record_every", "evaluate_every",
                 "evaluation_episodes")
)  # fmt: skip
_SYMBOLS = {"distillation_weight": "λ", "weight": "λ", "critic_weight": "λ of the critics"}
_ABSENT = {
    "distil": "no distillation",
    "normalise_targets": "no normalisation",
    "best_return": "no best-return start",
}
_HEADS = {
    ("actor_heads", "separate"): "separate actors",
    ("critic_heads", "separate"): "separate critics",
    ("actor_heads", "shallow"): "shared actor",
    ("critic_heads", "shallow"): "linear critic heads",
    ("critic_heads", "deep"): "deep critic heads",
}


def settings_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return every setting of a run.json by dotted name; the method's are `method.<name>`."""
    method = {key: value for key, value in description["method"].items() if key != "name"}
    return flattened({"method": method, **description["settings"]})


@cache
def defaults_of(method: str) -> Mapping[str, Any]:
    """Return the defaults of all settings, including the method's own if the method is known."""
    own = dataclasses.asdict(METHODS[method]()) if method in METHODS else {}
    plain = flattened({"method": own, **dataclasses.asdict(Settings())})
    return {name: comparable(value) for name, value in plain.items()}


def identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that affect what is learnt, in a comparable form."""
    return {name: comparable(value) for name, value in settings.items() if name not in _NO_MATTER}


def departures(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that affect what is learnt and differ from the defaults."""
    defaults = defaults_of(method)
    return {
        name: value
        for name, value in settings.items()
        if name not in _NO_MATTER and (name not in defaults or comparable(value) != defaults[name])
    }


def variants(method: str, runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return for each run of a method the settings that differ from defaults and other runs.

    Settings that all runs have in common do not make a variant, and a run with the defaults has no
    differing settings.
    """
    departed = [departures(method, settings) for settings in runs]
    compared = [identity(settings) for settings in runs]
    names = dict.fromkeys(name for found in departed for name in found)
    varying = [name for name in names if len({str(each.get(name)) for each in compared}) > 1]
    return [{name: found[name] for name in varying if name in found} for found in departed]


def in_words(changes: Mapping[str, Any]) -> str:
    """Return settings and their values as the text of a label."""
    return ", ".join(_one_in_words(name.rpartition(".")[2], changes[name]) for name in changes)


def _one_in_words(name: str, value: Any) -> str:
    spaced = name.replace("_", " ")
    if value is False:
        return _ABSENT.get(name, f"no {spaced}")
    if value is True:
        return spaced
    if isinstance(value, str) and (name, value) in _HEADS:
        return _HEADS[name, value]
    return f"{_SYMBOLS.get(name, spaced)} {_short(value)}"


def method_label(method: str) -> str:
    """Return a method's label in the registry, or its name if it is not registered."""
    return METHODS[method].label if method in METHODS else method


def label_of(method: str, variant: str) -> str:
    """Return the label of a run in tables and figures."""
    return f"{method_label(method)}, {variant}" if variant else method_label(method)


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


def comparable(value: Any) -> Any:
    """Return a value in comparable form: JSON turns tuples into lists and may turn 10.0 into 10."""
    if isinstance(value, list | tuple):
        return tuple(map(comparable, value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else value
