"""What sets runs of one method apart from each other, in the few words of a table or a legend."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from recall.methods import METHODS
from recall.plain import flattened
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
    return {name: _comparable(value) for name, value in plain.items()}


def departures(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from the defaults, of those that decide what is learnt."""
    defaults = defaults_of(method)
    return {
        name: value
        for name, value in settings.items()
        if name not in _NO_MATTER and (name not in defaults or _comparable(value) != defaults[name])
    }


def variants(method: str, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """For the settings of each run of a method: how it differs from defaults and other runs.

    What all of them have in common is no variant, and a run with the defaults has an empty one.
    """
    departed = [departures(method, settings) for settings in runs]
    names = dict.fromkeys(name for found in departed for name in found)
    missing = object()
    varying = [
        name
        for name in names
        if len({str(_comparable(settings.get(name, missing))) for settings in runs}) > 1
    ]
    return [
        ", ".join(in_words(name, found[name]) for name in varying if name in found)
        for found in departed
    ]


def in_words(name: str, value: Any) -> str:
    """A setting and its value, as a label says it."""
    last = name.rpartition(".")[2]
    if value is False:
        return _ABSENT.get(last, f"no {last.replace('_', ' ')}")
    if value is True:
        return last.replace("_", " ")
    if isinstance(value, str) and (last, value) in _HEADS:
        return _HEADS[last, value]
    return f"{_SYMBOLS.get(last, last.replace('_', ' '))} {_short(value)}"


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
    parts = re.split(r"(\d+(?:\.\d+)?(?:e-?\d+)?)", variant)
    return place, method, [(float(part), "") if _is_number(part) else (0.0, part) for part in parts]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "x".join(map(_short, value))
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return "none" if value is None else str(value).replace("_", " ")


def _comparable(value: Any) -> Any:
    """JSON has lists where settings have tuples, and 10 where they have 10.0."""
    if isinstance(value, list | tuple):
        return tuple(map(_comparable, value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else value
