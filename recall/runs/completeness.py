"""The evaluations that a finished run must have: of every task in every mode at its last step.

Without this check, metrics would silently take an earlier evaluation of a task whose last one was
lost, because a run may also be read while it trains.
"""

from collections.abc import Sequence

import numpy as np

from recall.runs.curves import RunCurves
from recall.runs.evaluations import MODES
from recall.runs.wording import few

Array = np.ndarray
_MOST_NAMED = 4


def recorded_modes(runs: Sequence[RunCurves]) -> Array:
    """Return [mode]: True for the modes that a fleet was evaluated in. Schedules may leave one out.

    A mode counts if any run has a record of it, since a single run may have lost all of its own.
    """
    return np.array([any(run.recorded[mode].any() for run in runs) for mode in range(len(MODES))])


def lost_at_end(run: RunCurves, modes: Array, tasks: Sequence[str], total_steps: int) -> str | None:
    """Return what a run lacks at its last step, `total_steps`, or None if nothing is lost."""
    if not len(run.steps):
        return "it has no evaluations"
    if run.steps[-1] < total_steps:
        return f"its evaluations end at step {run.steps[-1]:,} of {total_steps:,}"
    there = run.recorded[:, run.steps == total_steps].any(axis=1)  # [mode, task]
    lost = np.argwhere(modes[:, None] & ~there)
    if not len(lost):
        return None
    names = (f"{tasks[position]} ({MODES[mode]})" for mode, position in lost)
    return f"its last step, {total_steps:,}, lacks evaluations of {few(names, _MOST_NAMED)}"


def due_steps(runs: Sequence[RunCurves]) -> Array:
    """Return the steps at which the runs of a fleet were evaluated, as far as any record tells."""
    return np.unique(np.concatenate([run.steps for run in runs]))


def lost_before_end(run: RunCurves, modes: Array, due: Array) -> int:
    """Return how many records a run lacks at the steps that were `due` before the last one."""
    there = np.isin(due[:-1], run.steps)
    of_modes = run.recorded[modes]  # [mode, step, task]
    lost = np.sum(~of_modes[:, np.isin(run.steps, due[:-1])])
    return int(lost + np.sum(~there) * of_modes.shape[0] * of_modes.shape[2])
