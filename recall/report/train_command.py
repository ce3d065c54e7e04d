"""Reconstruct the commands that train a fleet again from its run.json."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from recall.analysis.departures import (
    DEFAULT,
    comparable,
    nearest_preset,
    settings_of,
    settings_of_preset,
)
from recall.analysis.labels import grouped
from recall.analysis.references import REFERENCE_METHOD, STEPS, needed
from recall.analysis.run_result import RunResult


def train_commands(description: Mapping[str, Any]) -> list[str]:
    """Return `recall train` with a preset and every setting that differs from it.

    There is a command for each group of sequences with the same seeds, and none if tasks are Python
    functions, which a command line cannot name.
    """
    if description.get("functions"):
        return []
    method, settings = description["method"]["name"], settings_of(description)
    preset, plugins = nearest_preset(method, settings), description.get("plugins", ())
    varied: dict[str, dict[str, None]] = {}  # the values of each setting, without repetition
    for run in description["runs"]:
        for name, value in run.get("own", {}).items():
            varied.setdefault(name.removeprefix("settings."), {})[str(value)] = None
    shared = {name: value for name, value in settings.items() if name not in varied}
    vary = [f"{name.partition('.')[2]}={','.join(values)}" for name, values in varied.items()]
    ending = " " + shlex.join(["--vary", *vary]) if vary else ""
    runs = grouped(description["runs"], lambda run: run["sequence"]).items()
    seeds = {each: tuple(dict.fromkeys(str(run["seed"]) for run in own)) for each, own in runs}
    return [
        _command(method, sequences, own, preset, shared, plugins) + ending
        for own, sequences in grouped(seeds, lambda each: seeds[each]).items()
    ]


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
        same = name in given and comparable(value) == given[name]
        if same or name in ("schedule.workers", "schedule.checkpoint_minutes"):
            continue  # another machine chooses these for itself
        option = name.partition(".")[2].replace("_", "-")  # without the top-level group
        if isinstance(value, bool):
            groups, dot, last = option.rpartition(".")
            words.append(f"--{groups}{dot}{'' if value else 'no-'}{last}")
        else:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"--{option}", *map(str, values)]
    words += [word for plugin in plugins for word in ("--plugin", plugin)]
    return shlex.join(words)
