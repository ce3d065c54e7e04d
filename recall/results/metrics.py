"""The paper's metrics (section 5.1), from evaluation records.

With p_i(t) the success rate of task i at step t, N tasks and D steps per task:

    average performance  P(t) = 1/N sum_i p_i(t)
    forgetting           F    = 1/N sum_i p_i(i D) - p_i(N D)
    forward transfer     FT_i = (AUC_i - AUC_i^b) / (1 - AUC_i^b), AUC over the task's own stage

p_i at a boundary is the mean of the last `window` evaluations, where a stage has that many.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recall.results.store import Results

Array = np.ndarray
WINDOW = 5


@dataclass(frozen=True)
class Curves:
    """One run's success rates: `success[evaluation, task]` at `steps[evaluation]`."""

    name: str
    tasks: tuple[str, ...]
    steps_per_task: int
    steps: Array
    success: Array


def curves(results: Results, mode: str = "stochastic", field: str = "success") -> list[Curves]:
    """The success curves of every run."""
    per_task = results.description["settings"]["schedule"]["steps_per_task"]
    found = []
    for index, run in enumerate(results.runs):
        tasks = tuple(run["tasks"])
        mine = [r for r in results.evaluations if r["run"] == index and r["mode"] == mode]
        steps = np.array(sorted({record["step"] for record in mine}), int)
        success = np.full((len(steps), len(tasks)), np.nan)
        where = {step: row for row, step in enumerate(steps)}
        for record in mine:
            success[where[record["step"]], record["position"]] = record[field]
        found.append(Curves(run["name"], tasks, per_task, steps, success))
    return found


def success_at(curve: Curves, task: int, step: int, window: int = WINDOW) -> float:
    """p_task(step): the mean of the last evaluations up to `step`, none from before its stage."""
    stage_start = (step - 1) // curve.steps_per_task * curve.steps_per_task
    rows = np.flatnonzero((curve.steps <= step) & (curve.steps > stage_start))[-window:]
    return float(np.mean(curve.success[rows, task])) if len(rows) else float("nan")


def average_performance(curve: Curves, window: int = WINDOW) -> float:
    """P at the end."""
    end = len(curve.tasks) * curve.steps_per_task
    return float(
        np.mean([success_at(curve, task, end, window) for task in range(len(curve.tasks))])
    )


def forgetting(curve: Curves, window: int = WINDOW) -> float:
    """F: what was lost between the end of each task and the end of all."""
    end = len(curve.tasks) * curve.steps_per_task
    losses = [
        success_at(curve, task, (task + 1) * curve.steps_per_task, window)
        - success_at(curve, task, end, window)
        for task in range(len(curve.tasks))
    ]
    return float(np.mean(losses))


def area(curve: Curves, task: int) -> float:
    """AUC_task: the mean of its evaluations within its own stage."""
    start, end = task * curve.steps_per_task, (task + 1) * curve.steps_per_task
    rows = (curve.steps > start) & (curve.steps <= end)
    return float(np.mean(curve.success[rows, task])) if rows.any() else float("nan")


def forward_transfer(curve: Curves, reference_areas: Sequence[float]) -> float:
    """FT against the areas of single-task reference runs, one for each task."""
    transfers = [
        (area(curve, task) - reference) / max(1.0 - reference, 1e-6)
        for task, reference in enumerate(reference_areas)
    ]
    return float(np.mean(transfers))
