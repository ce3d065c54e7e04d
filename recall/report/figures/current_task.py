"""Success on the task in training: how well, and how fast, each new task is learnt."""

from collections.abc import Iterator

import numpy as np

from recall.report.figures.base import Scene, Sketch, Skipped
from recall.report.figures.success import of_families
from recall.results.run import RunResult

Array = np.ndarray
KIND = "current_task"


def stage_of(steps: Array, run: RunResult) -> Array:
    """The task that was in training up to each step."""
    stage = (np.asarray(steps, int) - 1) // run.steps_per_task
    return np.clip(stage, 0, len(run.tasks) - 1)


def current(run: RunResult, steps: Array, values: Array) -> Array:
    """[step] of values [step, task] those of the task in training."""
    return values[np.arange(len(steps)), stage_of(steps, run)]


def sketches(scene: Scene) -> Iterator[Sketch | Skipped]:
    """A figure for each family."""
    yield from of_families(
        scene,
        KIND,
        "Success on the current task",
        "Success on the task in training, which changes at the dashed lines.",
        lambda run: (run.steps, current(run, run.steps, scene.successes(run))),
        broken=True,
    )
