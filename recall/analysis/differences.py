"""Differences between two labels, seed by seed, with Student's t intervals over the seeds.

There are usually three to five seeds. The bootstrap interval of so few is too narrow: it contains
the true mean of normal numbers in 62 % of all cases with three seeds and in 79 % with five, where
it promises 90 %. Student's t keeps its promise.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from recall.analysis.bootstrap import CONFIDENCE, Estimate
from recall.analysis.scores import Scores


def paired_difference(pairs: Sequence[tuple[Scores, Scores]], metric: str) -> Estimate | None:
    """Return the mean of (first - second) over the seeds that both have, on every sequence.

    None if a metric is missing, or if two labels share no seed. Runs of one seed have the same
    goals and starts. On the robots, two methods are no more alike for that, but nothing is lost by
    it either, and the sequences of one seed, which may begin alike, stay together.
    """
    differences: list[dict[int, float]] = []
    for first, second in pairs:
        ours, theirs = _by_seed(first, metric), _by_seed(second, metric)
        if ours is None or theirs is None:
            return None
        found = {seed: ours[seed] - theirs[seed] for seed in sorted(set(ours) & set(theirs))}
        if not found or not np.isfinite(list(found.values())).all():
            return None
        differences.append(found)
    return mean_difference(differences) if differences else None


def shared_seeds(first: Scores, second: Scores) -> int:
    """Return the number of seeds that both have."""
    return len({run.seed for run in first.runs} & {run.seed for run in second.runs})


def _by_seed(scores: Scores, metric: str) -> dict[int, float] | None:
    values = scores.by_run(metric)
    if values is None:
        return None
    found: dict[int, list[float]] = {}
    for run, value in zip(scores.runs, values.tolist(), strict=True):
        found.setdefault(run.seed, []).append(value)
    return {seed: float(np.mean(each)) for seed, each in found.items()}


def mean_difference(sequences: Sequence[Mapping[int, float]]) -> Estimate:
    """Return the mean over sequences of the differences by seed, with the interval over seeds.

    Both are of the seeds that all sequences have. If there is only one or none, the mean is of all
    seeds and has no interval.
    """
    seeds = set.intersection(*(set(found) for found in sequences))
    if len(seeds) < 2:
        return Estimate(float(np.mean([np.mean(list(found.values())) for found in sequences])))
    from scipy.special import stdtrit  # takes longer to import than all else here

    by_seed = [np.mean([found[seed] for found in sequences]) for seed in sorted(seeds)]
    value = float(np.mean(by_seed))
    error = float(np.std(by_seed, ddof=1)) / len(seeds) ** 0.5
    side = float(stdtrit(len(seeds) - 1, (1.0 + CONFIDENCE) / 2.0)) * error
    return Estimate(value, (value - side, value + side))
