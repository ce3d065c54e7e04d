"""Tasks that do not report success, as the records correct them.

An environment may mention success only once it is reached, so a success in the records overrules
the list in run.json.
"""

import dataclasses
from collections.abc import Iterable

from recall.analysis.run_result import RunResult


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
