"""Curves of training records: losses, norms and whatever else a learner writes."""

from collections.abc import Callable, Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import SymmetricalLogLocator

from recall.report.figures.bands import thinned
from recall.report.figures.base import Scene, Sketch, Skipped
from recall.report.figures.current_task import current, stage_of
from recall.report.figures.groups import Family, Group, families, main_labels
from recall.results.run import RunResult

Array = np.ndarray
POINTS = 240  # of a curve, about
MOST_RUNS = 10  # of a label, whose records are read: they are long


def column(run: RunResult, name: str, task: int | None = None) -> tuple[Array, Array]:
    """(steps, values) of a number in the records, where it has tasks of `task` or the current."""
    records = run.training
    if name not in records:
        return np.zeros(0), np.zeros(0)
    steps, values = records["step"], records[name]
    if values.ndim == 2:
        values = current(run, steps, values) if task is None else values[:, task]
    there = np.isfinite(values) & (steps > 0)
    steps, values = steps[there], values[there]
    return thinned(steps, values, stage_of(steps, run), max(10, POINTS // len(run.tasks)))


def recorded_groups(scene: Scene) -> Iterator[tuple[Family, Group]]:
    """The first sequence of each family, with at most ten runs of each label.

    Training records are long; more of them would show no more.
    """
    shown = main_labels(scene.collection)
    for family in families(scene.collection):
        for group in family.only(shown).groups[:1]:
            runs = {label: runs[:MOST_RUNS] for label, runs in group.runs.items()}
            yield family, Group(group.sequence, group.tasks, group.steps_per_task, runs)


def of_groups(
    scene: Scene, kind: str, lacking: str, sketch: Callable[[Group], Sketch | None]
) -> Iterator[Sketch | Skipped]:
    """A figure for each recorded group; told where there is nothing to draw."""
    groups = list(recorded_groups(scene))
    if not groups:
        yield Skipped(kind, "there are no runs of more than one task")
    for _, group in groups:
        yield sketch(group) or Skipped(kind, f"{group.sequence}: {lacking}")


def fit_scale(axes: Axes, arrays: list[Array]) -> None:
    """A logarithmic axis where values span more than two orders, symmetric where some are < 0."""
    values = np.concatenate([np.zeros(0), *arrays])
    values = values[np.isfinite(values)]
    sizes = np.abs(values[values != 0])
    if not len(sizes) or sizes.max() < 100.0 * np.quantile(sizes, 0.1):
        return
    if values.min() > 0:
        axes.set_yscale("log")
        return
    least = float(np.floor(np.log10(np.quantile(sizes, 0.1))))
    threshold = max(1e-3, 10.0**least)
    axes.set_yscale("symlog", linthresh=threshold)
    ticks = SymmetricalLogLocator(base=10, linthresh=threshold)
    ticks.set_params(numticks=7)
    axes.yaxis.set_major_locator(ticks)
