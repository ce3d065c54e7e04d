"""Paired differences between two labels: seed by seed, with bootstrap intervals over seeds."""

from collections.abc import Sequence

import numpy as np

from recall.results import bootstrap
from recall.results.bootstrap import Sampled
from recall.results.scores import Scores

Array = np.ndarray


def paired_difference(pairs: Sequence[tuple[Scores, Scores]], metric: str) -> Sampled | None:
    """Return the mean of (first - second) over the seeds that both have, on every sequence.

    None if a metric is missing, or if two labels share no seed. Runs of one seed have the same
    tasks, goals and starts, so the difference within a seed varies less than the runs do.
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
    if not differences:
        return None
    seeds = sorted(set().union(*differences))
    labels = " - ".join(scores.label for scores in pairs[0])
    name = f"{labels} with seeds {' '.join(map(str, seeds))}"
    return bootstrap.mean_of(
        [
            bootstrap.weighted_mean(
                np.array(list(found.values())), bootstrap.weights_by_seed(list(found), seeds, name)
            )
            for found in differences
        ]
    )


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
