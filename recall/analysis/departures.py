"""What a run's settings are called, and how they depart from the preset they are nearest to."""

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from recall.config.presets import PRESETS
from recall.config.resolve import choose, flattened
from recall.config.stored import completed
from recall.methods import METHODS
from recall.settings import Settings

DEFAULT, PAPER = "default", "paper"
METHOD = "method."
# These settings do not affect what is learned.
NO_MATTER = frozenset(
    f"schedule.{name}"
    for name in ("workers", "checkpoint_minutes", "keep_replay", "record_every", "evaluate_every",
                 "evaluation_episodes", "deterministic_episodes")
)  # fmt: skip
STEPS, PRECISION = "schedule.steps_per_task", "learner.sac.precision"
OLD_TASKS, COPIES = f"{METHOD}max_old_tasks", f"{METHOD}copies"
AVERAGE = f"{METHOD}average_actor"
BOUNDARIES = "schedule.boundaries"
OF_EXPERIMENT = (
    "schedule.", PRECISION, "learner.sac.n_step", "learner.sac.discount",
    f"{METHOD}retraining_updates", OLD_TASKS, AVERAGE, COPIES,
)  # fmt: skip
"""Beginnings of settings that say how updates are computed and for how long, in any method."""


def settings_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return every setting of a run.json by dotted name; the method's are `method.<name>`.

    A bound on old tasks in an update that has the same effect as the default is the default.
    """
    now = completed(description)
    method = {key: value for key, value in now["method"].items() if key != "name"}
    if "best_return" in method:  # before the setting existed, the best head was copied in any case
        method.setdefault("copies", "best_head")
    found = flattened({"method": method, **now["settings"]})
    default = settings_of_preset(description["method"]["name"]).get(OLD_TASKS)
    if isinstance(found.get(OLD_TASKS), int) and default is not None:
        balanced = method.get("sampling") == "balanced"
        old = max(len(run["tasks"]) for run in description["runs"]) - 1 if balanced else 0
        if min(found[OLD_TASKS], old) == min(default, old):
            found[OLD_TASKS] = int(default)
    return found


@cache
def settings_of_preset(method: str, preset: str = DEFAULT) -> Mapping[str, Any]:
    """Return all settings of a preset; the method's own are included if the method is known."""
    known = method in METHODS
    own, settings = choose(method if known else next(iter(METHODS)), Settings(), preset)
    plain = flattened(
        {"method": dataclasses.asdict(own) if known else {}, **dataclasses.asdict(settings)}
    )
    return {name: comparable(value) for name, value in plain.items()}


def settings_that_matter(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that affect what is learned, in a comparable form."""
    return {name: comparable(value) for name, value in settings.items() if name not in NO_MATTER}


def departures(method: str, settings: Mapping[str, Any], preset: str = DEFAULT) -> dict[str, Any]:
    """Return the settings that affect what is learned and differ from those of a preset.

    The settings of a method that is not registered are not in a preset, so all depart from it.
    """
    known = settings_of_preset(method, preset)
    return {
        name: value
        for name, value in settings.items()
        if name not in NO_MATTER and (name not in known or comparable(value) != known[name])
    }


def nearest_preset(method: str, settings: Mapping[str, Any]) -> str:
    """Return the preset that the settings depart from least, apart from the schedule."""
    own = {name: value for name, value in settings.items() if not name.startswith("schedule.")}
    return min(PRESETS, key=lambda name: len(departures(method, own, name)))


def comparable(value: Any) -> Any:
    """Return a value in comparable form: JSON turns tuples into lists and may turn 10.0 into 10."""
    if isinstance(value, list | tuple):
        return tuple(map(comparable, value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else value
