"""Tasks that do not report success, as run.json names them.

The list in run.json comes from one random episode of each task. An environment may mention success
only once it is reached, so a success in the records overrules the list.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recall.errors import RecallError
from recall.results.run_result import RunResult
from recall.results.store import read_description

KEY = "without_success"
"""Key of run.json: the names of the tasks that do not report success. It may be absent."""


def silent_tasks(description: Mapping[str, Any], tasks: Sequence[str]) -> tuple[str, ...]:
    """Return those of the given tasks that do not report success."""
    listed = description.get(KEY)
    named = listed if isinstance(listed, list) else []
    return tuple(task for task in dict.fromkeys(tasks) if task in named)


def silent_tasks_in(folder: Path) -> tuple[str, ...]:
    """Return the tasks of the fleet in a folder that do not report success."""
    try:
        description = read_description(folder)
        return tuple(description.get(KEY) or ())
    except (RecallError, OSError, ValueError, TypeError, AttributeError):
        return ()


def without_reached(runs: Iterable[RunResult]) -> list[RunResult]:
    """Return the runs; a task that any of them solved counts as one that reports success.

    Runs are considered together, because one that never solves a task is a run with success 0, and
    must not be left out of the mean of the others.
    """
    runs = list(runs)
    reached = {task for run in runs if run.without_success for task in run.reached}
    return [
        dataclasses.replace(
            run, without_success=tuple(task for task in run.without_success if task not in reached)
        )
        if reached.intersection(run.without_success)
        else run
        for run in runs
    ]


def left_out(tasks: Iterable[str]) -> str:
    """Return a sentence on the tasks that means of success leave out, or nothing without any."""
    names = ", ".join(dict.fromkeys(tasks))
    return f"Without {names}, whose success is not reported." if names else ""
