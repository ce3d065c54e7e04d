"""The note on runs that are identical at first, because their sequences begin with the same tasks.

The random numbers of the runs in `results` depend on the seed alone. Their results do not count as
independent ones where the tasks so far are the same.
"""

import itertools
from collections.abc import Iterable

import numpy as np

from recall.analysis.naming import grouped
from recall.analysis.run_result import RunResult
from recall.analysis.scores import Scores
from recall.runs.wording import counted


def beginning_notes(scores: Iterable[Scores]) -> tuple[str, ...]:
    """Return a sentence that names the sequences whose runs are identical at first, if any."""
    found: dict[tuple[str, str], int] = {}
    runs = (run for each in scores for run in each.runs)
    for same in grouped(runs, lambda run: (run.label, run.seed)).values():
        for one, other in itertools.combinations(same, 2):
            if tasks := tasks_as_one(one, other):
                found[one.sequence, other.sequence] = tasks
    if not found:
        return ()
    pairs = [f"{one} and {other} ({counted(n, 'task')})" for (one, other), n in found.items()]
    return (
        "Runs of one seed are identical in the first tasks that their sequences share, so these "
        f"results are not independent: {', '.join(pairs)}.",
    )


def tasks_as_one(one: RunResult, other: RunResult) -> int:
    """Return the number of first tasks that two runs share, if all evaluations there are equal."""
    pairs = zip(one.tasks, other.tasks, strict=False)
    tasks = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    if not tasks or one.steps_per_task != other.steps_per_task:
        return 0
    ours, theirs = _beginning(one, tasks), _beginning(other, tasks)
    equal = ours.keys() == theirs.keys() and all(
        np.array_equal(ours[key], theirs[key], equal_nan=True) for key in ours
    )
    return tasks if equal else 0


def _beginning(run: RunResult, tasks: int) -> dict[tuple[str, str], np.ndarray]:
    """Return every curve [evaluation, task] of the first tasks while these were learnt."""
    rows = run.steps <= tasks * run.steps_per_task
    return {key: curve[rows, :tasks] for key, curve in run.curves.items()}
