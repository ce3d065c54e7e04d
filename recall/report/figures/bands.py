"""Group runs into panels, and compute means of their curves with pointwise bootstrap intervals."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from recall.analysis.collection import Collection
from recall.analysis.estimates import CONFIDENCE, generator
from recall.analysis.labels import family_of, left_out, main_labels
from recall.analysis.run_result import RunResult, is_multi_task
from recall.runs.wording import spanned

Array = np.ndarray
CurveOf = Callable[[RunResult], tuple[Array, Array]]  # (steps, values)
DRAWS = 300  # bootstrap draws per point; more would not change a band visibly
NEIGHBOURS = "Where evaluations are many, points are means of neighbouring ones."


@dataclass(frozen=True)
class Group:
    """The runs of one sequence by label, all with the same tasks and steps."""

    sequence: str
    tasks: tuple[str, ...]
    steps_per_task: int
    runs: dict[str, list[RunResult]]

    @property
    def ends(self) -> list[int]:
        """The last step of every stage."""
        return [self.steps_per_task * (task + 1) for task in range(len(self.tasks))]

    @property
    def middles(self) -> list[float]:
        """The step in the middle of every stage."""
        return [end - self.steps_per_task / 2 for end in self.ends]

    @property
    def every_run(self) -> list[RunResult]:
        """The runs of all labels."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def in_words(self) -> str:
        """The tasks as text; a repeated sequence is written as such."""
        half = len(self.tasks) // 2
        if half > 1 and self.tasks[:half] == self.tasks[half:]:
            return "2 \N{MULTIPLICATION SIGN} (" + ", ".join(self.tasks[:half]) + ")"
        return " \N{RIGHTWARDS ARROW} ".join(self.tasks)


def shown_labels(collection: Collection, staged: bool = False) -> list[str]:
    """Return the labels to draw: the main ones, or all variants if there is only one method.

    `staged` leaves out methods that train all tasks at once.
    """
    runs = collection.sequential.runs
    if len({run.method for run in runs}) == 1:
        shown = list(dict.fromkeys(run.label for run in runs))
    else:
        shown = main_labels(runs)
    together = {run.label for run in runs if staged and is_multi_task(run.method)}
    return [label for label in shown if label not in together]


def families(collection: Collection, staged: bool = False) -> dict[str, list[Group]]:
    """Return the sequences with several tasks by family, with the runs of `shown_labels`."""
    order, found = shown_labels(collection, staged), dict[str, list[Group]]()
    for sequence, part in collection.sequential.by_sequence().items():
        group = group_of(sequence, part, order)
        if group.runs:
            found.setdefault(family_of(sequence), []).append(group)
    return found


def group_of(sequence: str, part: Collection, order: Iterable[str]) -> Group:
    """Return the runs with the most common tasks and steps; of equally common ones, the longer."""
    shapes = Counter((run.tasks, run.steps_per_task) for run in part.runs)
    tasks, steps = max(shapes, key=lambda shape: (shapes[shape], shape[1]))
    agree = part.where(lambda run: (run.tasks, run.steps_per_task) == (tasks, steps)).by_label()
    return Group(sequence, tasks, steps, {label: agree[label] for label in order if label in agree})


def described(groups: Sequence[Group]) -> str:
    """Return sentences for captions: how many runs means are over, and what is resampled."""
    counts = [len(runs) for group in groups for runs in group.runs.values()]
    runs = (
        f"Means of {spanned(counts)} runs with 90 % bootstrap intervals, for which whole runs are "
        "resampled."
    )
    return f"{'One run each.' if max(counts) == 1 else runs} {NEIGHBOURS}"


def silence(groups: Iterable[Group]) -> str:
    """Return a sentence on the tasks that do not report success, if there are any."""
    return left_out(
        task for group in groups for run in group.every_run for task in run.without_success
    )


@dataclass(frozen=True, eq=False)
class Band:
    """A mean curve with its interval; every array is [step]."""

    steps: Array
    mean: Array
    low: Array
    high: Array
    runs: int


def band(curves: Sequence[tuple[Array, Array]], ends: Sequence[int] = ()) -> Band:
    """Return the mean of curves (steps, values); a point averages the runs that have a number.

    A curve without a point where others have one is interpolated there, up to its last point, so
    that the mean does not jump. Nothing is interpolated across `ends`, after which curves show
    another task.
    """
    columns = [pd.Series(values, steps, float) for steps, values in curves]
    # A run that was killed may have logged some steps twice.
    once = [column[~column.index.duplicated(keep="last")] for column in columns]
    table = pd.concat(once, axis=1).sort_index()
    stages = [part for _, part in table.groupby(np.searchsorted(ends, table.index))]
    if stages:
        filled = [stage.interpolate("index", limit_area="inside") for stage in stages]
        table = pd.concat(filled).dropna(how="all")
    mean = table.mean(axis=1).to_numpy()
    low, high = _interval(table.to_numpy(), mean)
    return Band(table.index.to_numpy(), mean, low, high, len(curves))


def _interval(table: Array, mean: Array) -> tuple[Array, Array]:
    runs = table.shape[1]
    if runs < 2 or not table.size:
        return mean, mean
    even, there = np.full(runs, 1.0 / runs), np.isfinite(table)
    draws = generator(f"band of {runs}").multinomial(runs, even, size=DRAWS).T.astype(float)
    drawn = there @ draws
    # A draw without any run that reached a point says nothing about it: use the mean instead.
    means = np.where(
        drawn > 0, np.where(there, table, 0.0) @ draws / np.maximum(drawn, 1.0), mean[:, None]
    )
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
    group: Group, curve_of: CurveOf, points: int, ends: Sequence[int] = ()
) -> dict[str, Band]:
    """Return the mean curve of every label that has one, with about `points` points per stage."""
    found = {}
    for label, runs in group.runs.items():
        curves = thinned([(run, *curve_of(run)) for run in runs], points)
        if known := [curve for curve in curves if np.isfinite(curve[1]).any()]:
            found[label] = band(known, ends)
    return found


def thinned(
    curves: Sequence[tuple[RunResult, Array, Array]], points: int
) -> list[tuple[Array, Array]]:
    """Return (steps, values) of each run with about `points` points per stage.

    Neighbouring values of a stage are averaged, at the step of the last one. All runs have the same
    bins, also those that ended early: otherwise their mean would have steps of its own.
    """
    stages = (np.bincount(stage_of(steps, run)) for run, steps, _ in curves)
    longest = max((int(stage.max(initial=0)) for stage in stages), default=0)
    bins = longest // -(-longest // points) if longest > points else 0
    found = []
    for run, steps, values in curves:
        if bins and len(steps):
            table = pd.DataFrame({"step": steps, "value": values})
            parts = table.groupby(-(-steps * bins // run.steps_per_task))
            steps, values = parts.step.last().to_numpy(), parts.value.mean().to_numpy()
        found.append((steps, values))
    return found
