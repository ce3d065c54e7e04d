"""Find the task in training at a step, and how many points of a stage a panel can show."""

import numpy as np
from matplotlib.axes import Axes

from recall.analysis.run_result import RunResult
from recall.report.figures.layout import width_of

Array = np.ndarray
POINTS_PER_INCH = 40  # per curve; denser points blur into a blot
LEAST_POINTS = 5
NEIGHBOURS = " Points are means of neighbouring evaluations, as many as can be told apart."


def stage_of(steps: Array, run: RunResult) -> Array:
    """Return the task that was in training up to each step."""
    stage = (np.asarray(steps, int) - 1) // run.steps_per_task
    return np.clip(stage, 0, len(run.tasks) - 1)


def current(run: RunResult, steps: Array, values: Array) -> Array:
    """Select from values [step, task] those of the task in training, [step]."""
    return values[np.arange(len(steps)), stage_of(steps, run)]


def points_of_stage(axes: Axes, stages: int) -> int:
    """Return how many points of each stage can be told apart in a panel."""
    return max(LEAST_POINTS, int(POINTS_PER_INCH * width_of(axes) / stages))


def crowded(runs: list[RunResult], points: int) -> bool:
    """Return whether a run has more evaluations in a stage than can be told apart."""
    return any(
        np.bincount(stage_of(run.steps, run)).max() > points for run in runs if len(run.steps)
    )
