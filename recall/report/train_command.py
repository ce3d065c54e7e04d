"""Reconstruct the command that trains a fleet again from its run.json."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from recall.results.departures import (
    DEFAULT,
    comparable,
    nearest_preset,
    settings_of,
    settings_of_preset,
)
from recall.results.references import REFERENCE_METHOD, STEPS, needed
from recall.results.run_result import RunResult

# Another machine chooses these for itself.
_NOT_REPEATED = ("schedule.workers", "schedule.checkpoint_minutes")


def train_command(description: Mapping[str, Any]) -> str | None:
    """Return `recall train` with a preset and every setting that differs from it.

    Return None if tasks are Python functions, which a command line cannot name.
    """
    if description.get("functions"):
        return None
    method, runs = description["method"]["name"], description["runs"]
    sequences = dict.fromkeys(run["sequence"] for run in runs)
    seeds = dict.fromkeys(str(run["seed"]) for run in runs)
    settings = settings_of(description)
    preset = nearest_preset(method, settings)
    return _command(method, sequences, seeds, preset, settings, description.get("plugins", ()))


def reference_command(run: RunResult, tasks: Iterable[str], seeds: Iterable[int]) -> str | None:
    """Return `recall train` for single-task runs of plain SAC that `run` can be compared with.

    Return None if no command can name the tasks or the settings.
    """
    if run.source != "recall" or run.description.get("functions"):
        return None
    settings = {STEPS: run.steps_per_task} | needed(run)
    plugins = run.description.get("plugins", ())
    return _command(REFERENCE_METHOD, tasks, map(str, seeds), run.preset, settings, plugins)


def _command(
    method: str,
    sequences: Iterable[str],
    seeds: Iterable[str],
    preset: str,
    settings: Mapping[str, Any],
    plugins: Iterable[str] = (),
) -> str:
    words = ["recall", "train", "--method", method]
    words += ["--sequence", *sequences, "--seeds", *seeds]
    words += ["--preset", preset] if preset != DEFAULT else []
    given = settings_of_preset(method, preset)
    for name, value in settings.items():
        differs = name not in given or comparable(value) != given[name]
        if differs and name not in _NOT_REPEATED:
            words += _option(name, value)
    words += [word for plugin in plugins for word in ("--plugin", plugin)]
    return shlex.join(words)


def _option(name: str, value: Any) -> list[str]:
    """Return a setting as an option of `recall train`: its name without the top-level group."""
    option = name.partition(".")[2].replace("_", "-")
    if isinstance(value, bool):
        groups, _, last = option.rpartition(".")
        return [f"--{groups}{'.' if groups else ''}{'' if value else 'no-'}{last}"]
    values = value if isinstance(value, list | tuple) else [value]
    return [f"--{option}", *map(str, values)]
