"""The command that trains a fleet again, written out of what its run.json says."""

import shlex
from collections.abc import Mapping
from typing import Any

from recall.results.labels import comparable, defaults_of, settings_of

# Where it runs and how often it saves: another machine chooses for itself.
_NOT_REPEATED = ("schedule.workers", "schedule.checkpoint_minutes")


def train_command(description: Mapping[str, Any]) -> str | None:
    """`recall train` with every setting that differs from its default.

    None where tasks are Python functions, which no command line can name.
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
    """A setting as recall.commands.train names it: without the group that it belongs to."""
    option = name.partition(".")[2].replace("_", "-")
    if isinstance(value, bool):
        groups, _, last = option.rpartition(".")
        return [f"--{groups}{'.' if groups else ''}{'' if value else 'no-'}{last}"]
    values = value if isinstance(value, list | tuple) else [value]
    return [f"--{option}", *map(str, values)]
