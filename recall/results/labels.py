"""What sets runs of one method apart from each other, in the few words of a table or a legend."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from recall.config.convert import flattened
from recall.methods import METHODS
from recall.settings import Settings

# Where, how often and how long is looked, not what is learnt: no variant differs in these alone.
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
    """Every setting in a run.json by its dotted name, those of the method as `method.<name>`."""
    method = {key: value for key, value in description["method"].items() if key != "name"}
    return flattened({"method": method, **description["settings"]})


@cache
def defaults_of(method: str) -> Mapping[str, Any]:
    """The defaults of a method and of everything else; without a known method, of the latter."""
    own = dataclasses.asdict(METHODS[method]()) if method in METHODS else {}
    plain = flattened({"method": own, **dataclasses.asdict(Settings())})
    return {name: comparable(value) for name, value in plain.items()}


def identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that decide what is learnt, in a form that compares."""
    return {name: comparable(value) for name, value in settings.items() if name not in _NO_MATTER}


def departures(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from the defaults, of those that decide what is learnt."""
    defaults = defaults_of(method)
    return {
        name: value
        for name, value in settings.items()
        if name not in _NO_MATTER and (name not in defaults or comparable(value) != defaults[name])
    }


def variants(method: str, runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For the settings of each run of a method: in what it differs from defaults and other runs.

    What all of them have in common is no variant, and a run with the defaults differs in nothing.
    """
    departed = [departures(method, settings) for settings in runs]
    compared = [identity(settings) for settings in runs]
    names = dict.fromkeys(name for found in departed for name in found)
    varying = [name for name in names if len({str(each.get(name)) for each in compared}) > 1]
    return [{name: found[name] for name in varying if name in found} for found in departed]


def in_words(changes: Mapping[str, Any]) -> str:
    """Settings and their values, as a label says them."""
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
    """The label of the registry, or the name itself of a method that is not in it."""
    return METHODS[method].label if method in METHODS else method


def label_of(method: str, variant: str) -> str:
    """What tables and figures call a run."""
    return f"{method_label(method)}, {variant}" if variant else method_label(method)


def order_of(method: str, variant: str) -> tuple[Any, ...]:
    """Sorts labels: methods as in the registry, plain before variants, numbers by size."""
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
    """JSON has lists where settings have tuples, and 10 where they have 10.0."""
    if isinstance(value, list | tuple):
        return tuple(map(comparable, value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else value
