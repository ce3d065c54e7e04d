"""The paper's metrics (section 5.1) from the success of runs over time, as in docs/report.md.

Non-finite values are left out of means; a boundary that a run did not reach has no value (NaN).
"""

from dataclasses import dataclass

import numpy as np

from recall.errors import UnknownNameError
from recall.runs.evaluations import FIELDS, MODES, RATES, Field, Mode
from recall.settings.checked import Checked, Count, from_plain

Array = np.ndarray
WINDOW = 5
LARGEST_SHARE = 5
"""A window holds at most one evaluation in so many of its stage, and at least one."""
PERFORMANCE, FORGETTING, TRANSFER = "average_performance", "forgetting", "forward_transfer"
RETURN: Field = "return"
"""The field that stands for success where tasks do not report it."""
METRICS = (PERFORMANCE, FORGETTING, TRANSFER)
TITLES = {name: name.replace("_", " ") for name in METRICS}


@dataclass(frozen=True)
class Measure(Checked):
    """What counts as success, and the number of evaluations to average at a boundary."""

    window: Count = WINDOW
    mode: Mode = MODES[0]
    field: Field = FIELDS[0]


def of_success(measure: Measure | None) -> Measure:
    """Return a measure, by default the usual one; refuse the return, which reports show anyway."""
    found: Measure = from_plain(Measure, Measure() if measure is None else measure, "measure")
    if found.field not in RATES:
        raise UnknownNameError("measure of success", found.field, RATES)
    return found


@dataclass(frozen=True)
class Curves:
    """One run's success rates: `success[evaluation, task]` at `steps[evaluation]`."""

    tasks: tuple[str, ...]
    steps_per_task: int
    steps: Array
    success: Array
    ends_evaluated: bool = False
    """Whether the end of every stage is evaluated, so that a stage without that is unfinished."""


def successes_at(curve: Curves, step: int, window: int = WINDOW) -> Array:
    """Return p_i(step), [task]: means of the stage's last evaluations up to `step`.

    They are NaN if the run was not evaluated that far.
    """
    rows = _rows_of_stage(curve, step)
    if not len(rows) or not _reached(curve, step):
        return np.full(len(curve.tasks), np.nan)
    size = window_of(len(rows), window)
    known = [column[np.isfinite(column)][-size:] for column in curve.success[rows].T]
    return np.array([values.mean() if len(values) else np.nan for values in known])


def _rows_of_stage(curve: Curves, step: int) -> Array:
    """Return the evaluations of the stage that `step` lies in, up to `step`."""
    stage_start = (step - 1) // curve.steps_per_task * curve.steps_per_task
    return np.flatnonzero((curve.steps <= step) & (curve.steps > stage_start))


def window_of(evaluations: int, window: int = WINDOW) -> int:
    """Return how many of a stage's last evaluations are averaged at its end."""
    return min(window, max(1, evaluations // LARGEST_SHARE))


def evaluations_of_stage(curve: Curves) -> int:
    """Return the number of evaluations in the last stage."""
    return len(_rows_of_stage(curve, len(curve.tasks) * curve.steps_per_task))


def _reached(curve: Curves, step: int) -> bool:
    """Return True if `step` was evaluated, or no further evaluation was due up to it."""
    last = curve.steps[-1]
    if curve.ends_evaluated:
        return bool(last >= step)
    interval = np.max(np.diff(curve.steps), initial=0)
    return bool(last >= step or last > step - interval)


def performance_over_time(curve: Curves) -> Array:
    """Return P(t) at the curve's steps, [evaluation], over the tasks whose success is known."""
    known = np.isfinite(curve.success).any(axis=0)
    return np.mean(curve.success if known.all() else curve.success[:, known], axis=1)


def final_successes(curve: Curves, window: int = WINDOW) -> Array:
    """Return p_i(N D), [task]: the success at the end of the sequence."""
    return successes_at(curve, len(curve.tasks) * curve.steps_per_task, window)


def trained_successes(curve: Curves, window: int = WINDOW) -> Array:
    """Return p_i(i D), [task]: the success at the end of each task's own stage."""
    ends = [(task + 1) * curve.steps_per_task for task in range(len(curve.tasks))]
    return np.array([successes_at(curve, end, window)[task] for task, end in enumerate(ends)])


def area(curve: Curves, task: int) -> float:
    """Return AUC_task: the mean of the task's evaluations within its own stage."""
    end = (task + 1) * curve.steps_per_task
    if not _reached(curve, end):
        return float("nan")
    return _mean_over(steps_of_stage(curve, task), curve.success[_rows_of_stage(curve, end), task])


def _mean_over(steps: Array, values: Array) -> float:
    """Return the mean of the finite values, each weighted by the steps since the one before."""
    there = np.isfinite(values)
    weights = np.diff(steps, prepend=0)[there]
    return float(np.average(values[there], weights=weights)) if there.any() else float("nan")


def area_at(reference: Curves, steps: Array) -> float:
    """Return AUC of a single-task run from its curve at other steps [evaluation], interpolated.

    Before its first evaluation, unless step 0 was evaluated too, the curve has the value of it.
    """
    success = reference.success[:, 0]
    there = np.isfinite(success)
    if not there.any() or not len(steps) or not _reached(reference, reference.steps_per_task):
        return float("nan")
    return _mean_over(steps, np.interp(steps, reference.steps[there], success[there]))


def steps_of_stage(curve: Curves, task: int) -> Array:
    """Return the steps of the evaluations in a task's own stage, counted from its start."""
    start, end = task * curve.steps_per_task, (task + 1) * curve.steps_per_task
    return curve.steps[_rows_of_stage(curve, end)] - start


def areas(curve: Curves) -> Array:
    """Return AUC_i, [task]."""
    return np.array([area(curve, task) for task in range(len(curve.tasks))])


def transfer(own: Array, reference: Array) -> Array:
    """Return FT_i of areas of the same shape; NaN where the reference leaves nothing to gain."""
    room = 1.0 - reference
    return np.where(room > 0, (own - reference) / np.where(room > 0, room, 1.0), np.nan)
