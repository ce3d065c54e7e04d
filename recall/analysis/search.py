"""Search for runs: every folder below the given ones that holds a fleet or a log is read."""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

from recall.analysis import continual_world_logs
from recall.analysis.fleets import read_fleet
from recall.analysis.run_result import RunResult
from recall.runs.find import FLEET, LOG, TRACES, folders_below


def read_all(folders: Iterable[Path]) -> tuple[list[RunResult], list[str]]:
    """Return the runs below some folders, reading each folder once, and the problems."""
    runs: list[RunResult] = []
    problems: list[str] = []
    seen: set[Path] = set()
    for folder, kind in _found(folders, problems):
        if folder.resolve() in seen:
            continue
        seen.add(folder.resolve())
        if kind == FLEET:
            found, wrong = read_fleet(folder)
        else:
            found, wrong = continual_world_logs.read_log(folder)
        runs += found
        problems += wrong
    return _without_reached(runs), problems


def _without_reached(runs: list[RunResult]) -> list[RunResult]:
    """Return the runs; a task that any of them solved counts as one that reports success.

    An environment may mention success only once it is reached. Runs are considered together,
    because one that never solves a task is a run with success 0, and belongs in the mean.
    """
    reached = {task for run in runs if run.without_success for task in run.reached}
    return [
        dataclasses.replace(
            run, without_success=tuple(task for task in run.without_success if task not in reached)
        )
        if reached.intersection(run.without_success)
        else run
        for run in runs
    ]


def _found(folders: Iterable[Path], problems: list[str]) -> Iterator[tuple[Path, str]]:
    """Yield every folder that holds runs, and the name of the file that shows it."""

    def unreadable(error: OSError) -> None:
        problems.append(f"{error.filename} cannot be read ({error.strerror}): left out.")

    for top in folders:
        before, found = len(problems), False
        for folder, kind in folders_below(top, unreadable):
            found = True
            if kind == TRACES:
                problems.append(f"{folder} has no {FLEET}, only other files of a fleet: left out.")
            else:
                yield folder, kind
        if not found and len(problems) == before:
            problems.append(f"{top} holds no runs: there is no {FLEET} or {LOG} below it.")
