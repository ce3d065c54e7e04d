"""Prepare curves from training records: losses, norms and other metrics of a learner."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import SymmetricalLogLocator

from recall.analysis.run_result import RunResult
from recall.report.figures.bands import Band
from recall.report.figures.curve_panels import bands_of
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.groups import Group, shown_families
from recall.report.figures.stages import current
from recall.report.figures.style import LineStyle
from recall.report.figures.success import NO_SEQUENCES

Array = np.ndarray
FigureMaker = Callable[[Group, Mapping[str, LineStyle]], Figure | None]
POINTS = 240  # approximate number of points per curve
MOST_RUNS = 10  # per label; records are long, so no more are read


def record_bands(group: Group, name: str, task: int | None = None) -> dict[str, Band]:
    """Return the mean curve of a metric for every label that has it.

    A metric that has a value for each task is that of `task`, or of the current one.
    """
    points = max(10, POINTS // len(group.tasks))
    breaks = group.stage_ends if task is None else []
    return bands_of(group, partial(_column, name=name, task=task), points, breaks)


def _column(run: RunResult, name: str, task: int | None) -> tuple[Array, Array]:
    records = run.training
    if name not in records:
        return np.zeros(0), np.zeros(0)
    steps, values = records["step"], records[name]
    if values.ndim == 2:
        values = current(run, steps, values) if task is None else values[:, task]
    there = np.isfinite(values) & (steps > 0)
    return steps[there], values[there]


def of_groups(
    scene: Scene, kind: str, lacking: str, figure: FigureMaker, staged: bool = False
) -> Iterator[Figure | Skipped]:
    """Yield one figure for the first sequence of each family, with at most ten runs per label.

    Training records are long, and more of them would not change the picture.
    """
    found = shown_families(scene.collection, staged)
    if not found:
        yield Skipped(kind, NO_SEQUENCES)
    for family in found:
        group = family.groups[0]
        runs = {label: runs[:MOST_RUNS] for label, runs in group.runs.items()}
        fewer = Group(group.sequence, group.tasks, group.steps_per_task, runs)
        made = figure(fewer, scene.line_styles)
        yield _with_thinning(made, runs) or Skipped(kind, f"{group.sequence}: {lacking}")


def _with_thinning(figure: Figure | None, runs: Mapping[str, Sequence[RunResult]]) -> Figure | None:
    """Return a figure whose caption says how training records were thinned in archives, if so."""
    notes = {run.archived.in_words() for each in runs.values() for run in each if run.archived}
    words = " ".join(sorted(filter(None, notes)))
    if figure is None or not words:
        return figure
    return dataclasses.replace(figure, caption=f"{figure.caption} {words}")


def fit_scale(axes: Axes, arrays: list[Array]) -> None:
    """Use a log axis if values span over two orders of magnitude, symlog if some are negative."""
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
