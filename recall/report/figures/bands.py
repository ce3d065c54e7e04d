"""Compute means of curves over runs, with pointwise 90 % bootstrap intervals.

Whole runs are resampled, the same draws at all points of all curves. Where a panel cannot show
every evaluation, neighbouring ones of a stage are averaged first.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from recall.analysis.bootstrap import CONFIDENCE, generator
from recall.analysis.run_result import RunResult
from recall.report.figures.groups import Group

Array = np.ndarray
CurveOf = Callable[[RunResult], tuple[Array, Array]]  # (steps, values)
DRAWS = 300  # bootstrap draws per point; more would not change a band visibly


@dataclass(frozen=True, eq=False)
class Band:
    """A mean curve with its interval; every array is [step].

    A point with a single run has no interval: low and high equal its mean.
    """

    steps: Array
    mean: Array
    low: Array
    high: Array
    runs: int

    def within(self, start: float, end: float) -> "Band":
        """Return the part after `start` and up to `end`."""
        part = (self.steps > start) & (self.steps <= end)
        return Band(self.steps[part], self.mean[part], self.low[part], self.high[part], self.runs)


def band(curves: Sequence[tuple[Array, Array]], breaks: Sequence[int] = ()) -> Band:
    """Return the mean of curves (steps, values); a point averages the runs that have a number.

    A curve that has no point where others have one is interpolated there, up to its last point:
    otherwise the mean would jump between the runs that have the even and the odd points. `breaks`
    are the last steps of stages if a curve shows another task in each. Nothing is interpolated
    between the last point of one task and the first point of the next.
    """
    steps = np.unique(np.concatenate([[], *(steps for steps, _ in curves)]))
    table = np.full((len(steps), len(curves)), np.nan)
    for column, (own, values) in enumerate(curves):
        if len(own):
            table[:, column] = _interpolated(steps, own, values, breaks)
    there = np.isfinite(table)
    some = there.any(axis=1)
    steps, table, there = steps[some], np.where(there, table, 0.0)[some], there[some]
    mean = table.sum(axis=1) / there.sum(axis=1)
    low, high = _interval(table, there, mean)
    return Band(steps, mean, low, high, len(curves))


def _interpolated(steps: Array, own: Array, values: Array, breaks: Sequence[int]) -> Array:
    """Return the values of a curve at other steps; NaN outside of it and across `breaks`."""
    before = np.searchsorted(own, steps, side="right") - 1
    behind = np.minimum(np.searchsorted(own, steps), len(own) - 1)
    unbroken = np.searchsorted(breaks, own[before]) == np.searchsorted(breaks, own[behind])
    found = np.interp(steps, own, values, left=np.nan, right=np.nan)
    return np.where(unbroken, found, np.nan)


@cache
def _draws(runs: int) -> Array:
    """Return [run, draw] how often each run is drawn, the same for all points of all curves."""
    even = np.full(runs, 1.0 / runs)
    return generator(f"band of {runs}").multinomial(runs, even, size=DRAWS).T.astype(float)


def _interval(table: Array, there: Array, mean: Array) -> tuple[Array, Array]:
    runs = table.shape[1]
    if runs < 2 or not table.size:
        return mean, mean
    means = table @ _draws(runs)
    if there.all():
        means /= runs
    else:
        drawn = there.astype(float) @ _draws(runs)
        # A draw without any run that reached a point says nothing about it: use the mean instead.
        means = np.where(drawn > 0, means / np.maximum(drawn, 1.0), mean[:, None])
    side = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(means, (side, 1.0 - side), axis=1)
    return low, high


def stage_of(steps: Array, run: RunResult) -> Array:
    """Return the task that was in training up to each step."""
    stage = (np.asarray(steps, int) - 1) // run.steps_per_task
    return np.clip(stage, 0, len(run.tasks) - 1)


def current(run: RunResult, steps: Array, values: Array) -> Array:
    """Select from values [step, task] those of the task in training, [step]."""
    return values[np.arange(len(steps)), stage_of(steps, run)]


def bands_of(
    group: Group, curve_of: CurveOf, most: int, breaks: Sequence[int] = ()
) -> dict[str, Band]:
    """Return the mean curve of every label that has one, with about `most` points per stage.

    `breaks` are the last steps of stages if a curve shows another task in each.
    """
    found = {}
    for label, runs in group.runs.items():
        curves = [
            (steps, values)
            for steps, values in thinned_alike([(run, *curve_of(run)) for run in runs], most)
            if np.isfinite(values).any()
        ]
        if curves:
            found[label] = band(curves, breaks)
    return found


def crowded(runs: Iterable[RunResult], most: int) -> bool:
    """Return whether a run has more evaluations in a stage than `most`."""
    return any(np.bincount(stage_of(run.steps, run)).max() > most for run in runs if len(run.steps))


def thinned_alike(
    curves: Sequence[tuple[RunResult, Array, Array]], most: int
) -> list[tuple[Array, Array]]:
    """Return (steps, values) of each run with about `most` points per stage."""
    stages = [stage_of(steps, run) for run, steps, _ in curves]
    size = bin_size(stages, most)
    return [
        thinned(steps, values, own, size)
        for (_, steps, values), own in zip(curves, stages, strict=True)
    ]


def bin_size(stages: Iterable[Array], most: int) -> int:
    """Return how many neighbours to average so that no stage has many more than `most` points.

    `stages` are those of the points of every run. All runs have the same bins, also those that
    ended early: the mean of curves with different bins would have steps of its own.
    """
    longest = max((int(np.bincount(each).max(initial=0)) for each in stages), default=0)
    return max(1, -(-longest // most))


def thinned(steps: Array, values: Array, stages: Array, size: int) -> tuple[Array, Array]:
    """Average `size` neighbouring values of a stage into one, at the last one's step."""
    if size <= 1 or not len(steps):
        return steps, values
    first = np.flatnonzero(np.diff(stages, prepend=-1))
    spans = itertools.pairwise([*first.tolist(), len(steps)])
    starts = np.concatenate([_starts(begin, end, size) for begin, end in spans])
    there = np.isfinite(values)
    counts = np.add.reduceat(there.astype(int), starts)
    sums = np.add.reduceat(np.where(there, values, 0.0), starts)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return steps[np.append(starts[1:], len(steps)) - 1], means


def _starts(first: int, end: int, size: int) -> Array:
    """Return where the bins of a stage start; a small remainder joins the last bin.

    Bins are counted from the start of the stage, so that unfinished runs have the same steps as
    others.
    """
    starts = np.arange(first, end, size)
    alone = len(starts) > 1 and end - starts[-1] < size / 2
    return starts[:-1] if alone else starts
