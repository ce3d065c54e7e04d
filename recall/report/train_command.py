"""Reconstruct the command that trains a fleet again from its run.json."""

import shlex
from collections.abc import Mapping
from typing import Any

from recall.results.labels import comparable, defaults_of, settings_of

# Another machine chooses these for itself.
_NOT_REPEATED = ("schedule.workers", "schedule.checkpoint_minutes")


def train_command(description: Mapping[str, Any]) -> str | None:
    """Return `recall train` with every setting that differs from its default.

    Return None if tasks are Python functions, which a command line cannot name.
    """
    if description.get("functions"):
        return None
    method, runs = description["method"]["name"], description["runs"]
    sequences = dict.fromkeys(run["sequence"] for run in runs)
    seeds = dict.fromkeys(str(run["seed"]) for run in runs)
    words = ["recall", "train", "--method", method]
    words += ["--sequence", *sequences, "--seeds", *seeds]
    defaults = defaults_of(method)
    for name, value in settings_of(description).items():
        differs = name not in defaults or comparable(value) != defaults[name]
        if differs and name not in _NOT_REPEATED:
            words += _option(name, value)
    return shlex.join(words)


def _option(name: str, value: Any) -> list[str]:
    """Return a setting as an option of `recall train`: its name without the top-level group."""
    option = name.partition(".")[2].replace("_", "-")
    if isinstance(value, bool):
        groups, _, last = option.rpartition(".")
        return [f"--{groups}{'.' if groups else ''}{'' if value else 'no-'}{last}"]
    values = value if isinstance(value, list | tuple) else [value]
    return [f"--{option}", *map(str, values)]
