"""Means of scores with intervals, differences between labels, and which label is best.

Rows are selections of the frame of scores (recall.analysis.frames) with one label, of any sequences
and tasks. A value is a column of that frame or the name of a metric.

Means have bootstrap intervals. What decides between labels is their difference, seed by seed, with
a Student's t interval over the seeds: there are usually three to five seeds, and the bootstrap
interval of so few is too narrow. It contains the true mean of normal numbers in 62 % of all cases
with three seeds and in 79 % with five, where it promises 90 %; Student's t keeps its promise.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from recall.analysis import bootstrap
from recall.analysis.bootstrap import CONFIDENCE, Estimate, Sampled
from recall.analysis.frames import MEASURED, list_of, matrix
from recall.analysis.measures import FORGETTING
from recall.analysis.ties import settled as round_for_comparison


def estimate(rows: pd.DataFrame, value: str, places: bool = False) -> Sampled | None:
    """Return the mean over tasks, then over runs and then over sequences, with bootstrap draws.

    With `places`, every place of a task counts the same, however many its sequence has. None unless
    each sequence has the value: a mean over some would not compare with that of another label.
    """
    known = _known(rows, value)
    groups = known.groupby(["sequence", "position"] if places else "sequence", sort=False)
    parts = [_sampled(part, column_of(value)) for _, part in groups]
    return bootstrap.mean_of(parts) if parts else None


def column_of(value: str) -> str:
    """Return the column of a metric, or `value` itself."""
    return MEASURED.get(value, value)


def _known(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the rows that have a value, or none unless each sequence has it."""
    known = rows[rows[column_of(value)].notna()]
    return known if known.sequence.nunique() == rows.sequence.nunique() else known[:0]


def _sampled(rows: pd.DataFrame, column: str) -> Sampled:
    """Return the mean of one label on one sequence."""
    weights = weights_of(rows)
    if column != "transfer":
        return bootstrap.weighted_mean(
            rows.groupby("run", sort=False)[column].mean().to_numpy(), weights
        )
    of_run = rows.drop_duplicates("position")
    alone = {task: np.array(areas) for task, areas in zip(of_run.task, of_run.alone, strict=True)}
    tasks = [task for _, task in sorted(zip(of_run.position, of_run.task, strict=True))]
    return bootstrap.forward_transfer(matrix(rows, "area"), tasks, alone, weights)[0]


def weights_of(rows: pd.DataFrame) -> np.ndarray | None:
    """Return how much each run of one label on one sequence counts in each draw, [draw, run].

    None for a single seed.
    """
    seeds = rows.drop_duplicates("run").seed.tolist()
    return bootstrap.weights_by_seed(seeds, rows.iloc[0].seeds, _name(rows))


def _name(rows: pd.DataFrame) -> str:
    """Return the name that seeds the bootstrap draws, the same for all sequences of a label."""
    first = rows.iloc[0]
    return f"{first.label} with seeds {' '.join(map(str, first.seeds))}"


def by_run(rows: pd.DataFrame, value: str) -> pd.Series:
    """Return the value of each run by sequence and seed; empty unless each sequence has it."""
    return _known(rows, value).groupby(["sequence", "seed"], sort=False)[column_of(value)].mean()


def interquartile_mean(rows: pd.DataFrame) -> Sampled:
    """Return the interquartile mean of the final scores of all runs and tasks of one sequence."""
    return bootstrap.sampled_interquartile_mean(matrix(rows, "final"), _name(rows))


def improvement(ours: pd.DataFrame, theirs: pd.DataFrame) -> Sampled:
    """Return how often a run of ours has the higher average performance, on one sequence."""
    first, second = (by_run(rows, "final").to_numpy() for rows in (ours, theirs))
    return bootstrap.probability_of_improvement(first, second, (_name(ours), _name(theirs)))


def difference(ours: pd.DataFrame, theirs: pd.DataFrame, value: str) -> Estimate | None:
    """Return ours minus theirs over the seeds that both have, with Student's t interval over them.

    None if a value is missing, or if no seed is shared on one of the sequences. Runs of one seed
    have the same goals and starts. On the robots, two methods are no more alike for that, but
    nothing is lost by it either, and the sequences of one seed, which may begin alike, stay
    together.
    """
    if set(ours.sequence) != set(theirs.sequence):
        return None
    found = (by_run(ours, value) - by_run(theirs, value)).dropna()
    table = found.unstack("sequence")
    if found.empty or table.shape[1] < ours.sequence.nunique():
        return None
    return mean_difference(table.to_numpy())


def mean_difference(differences: np.ndarray) -> Estimate:
    """Return the mean of differences [seed, sequence] over the seeds that all sequences have.

    If there is only one such seed or none, the mean is of all seeds and has no interval.
    """
    shared = differences[np.isfinite(differences).all(axis=1)]
    if len(shared) < 2:
        return Estimate(float(np.mean(np.nanmean(differences, axis=0))))
    from scipy.special import stdtrit  # takes longer to import than all else here

    by_seed = shared.mean(axis=1)
    value = float(by_seed.mean())
    error = float(by_seed.std(ddof=1)) / len(by_seed) ** 0.5
    side = float(stdtrit(len(by_seed) - 1, (1.0 + CONFIDENCE) / 2.0)) * error
    return Estimate(value, (value - side, value + side))


def shared_seeds(ours: pd.DataFrame, theirs: pd.DataFrame) -> int:
    """Return the number of seeds that both have on every sequence."""
    pairs = [
        set(part.seed) & set(theirs.seed[theirs.sequence == sequence])
        for sequence, part in ours.groupby("sequence")
    ]
    return min(map(len, pairs), default=0)


def shared_sequences(groups: Iterable[pd.DataFrame]) -> list[str]:
    """Return the sequences that all groups of rows have, over which their means compare."""
    lists = [list_of(rows, "sequence") for rows in groups]
    return [name for name in lists[0] if all(name in each for each in lists)] if lists else []


class Ranking(NamedTuple):
    """Which of several labels is best, and which cannot be told from it."""

    best: str | None = None
    """None if nothing can be ranked."""
    undecided: tuple[str, ...] = ()
    """The labels that cannot be told from the best, the better first."""
    differences: Mapping[str, Estimate] = {}
    """How far the best is ahead of each other label that is ranked, seed by seed."""
    bold: frozenset[str] = frozenset()
    """The best and those that cannot be told from it, as tables mark them."""


def rank(groups: Mapping[str, pd.DataFrame], value: str) -> Ranking:
    """Return which of several labels, given by their rows, is best in a value.

    A label is as good as the best if the Student's t interval of their difference, seed by seed,
    reaches zero. Only labels with the steps per task and the sequences of most of them are ranked,
    and that share two seeds with the best. A negative transfer is bold only if it is decidedly the
    best: learning from scratch would have been better.
    """
    means = {
        label: mean
        for label, rows in _comparable(groups).items()
        if (mean := _mean(rows, value)) is not None and rows.seed.nunique() > 1
    }
    sign = -1.0 if column_of(value) == MEASURED[FORGETTING] else 1.0
    order = sorted(means, key=lambda label: -sign * float(round_for_comparison(means[label])))
    if len(order) < 2:
        return Ranking()
    best, *others = order
    differences = {
        label: found
        for label in others
        if (found := difference(groups[best], groups[label], value)) and found.interval
    }
    if not differences:
        return Ranking()
    undecided = tuple(label for label, found in differences.items() if _reaches_zero(found, sign))
    bold = {best, *undecided}
    if column_of(value) == "transfer" and undecided:
        bold = {label for label in bold if means[label] >= 0.0}
    return Ranking(best, undecided, differences, frozenset(bold))


def _comparable(groups: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the labels of the most frequent steps per task and sequences; none if two tie."""
    kinds: dict[str, Any] = {
        label: (frozenset(rows.sequence), frozenset(rows.steps_per_task))
        for label, rows in groups.items()
        if len(rows)
    }
    counts = Counter(kinds.values()).most_common(2)
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return {}
    return {label: groups[label] for label, kind in kinds.items() if kind == counts[0][0]}


def _mean(rows: pd.DataFrame, value: str) -> float | None:
    known = _known(rows, value)
    if known.empty:
        return None
    return float(known.groupby("sequence")[column_of(value)].mean().mean())


def _reaches_zero(difference: Estimate, sign: float) -> bool:
    """Return True unless the best is decidedly better; `sign` is negative where less is better."""
    interval = difference.interval or (difference.value, difference.value)
    return bool(min(round_for_comparison(sign * np.array(interval))) <= 0.0)
