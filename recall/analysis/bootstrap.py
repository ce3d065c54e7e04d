"""Bootstrap confidence intervals over seeds, and the interquartile mean of Agarwal et al., 2021.

Whole runs are resampled with replacement; the interval lies between the 5 % and the 95 % quantile
of the draws, as in the paper. They depend only on the name and the number of the runs, so a report
is reproducible. Seeds are drawn for all sequences together, each a repetition of the experiment.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recall.analysis.metrics import transfer

Array = np.ndarray
DRAWS = 4000
CONFIDENCE = 0.9


class Estimate(NamedTuple):
    """A mean and its 90 % interval, if there is one."""

    value: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Sampled:
    """A statistic of the data and of resampled data, [draw]. A single run has no draws."""

    value: float
    draws: Array | None = None

    @property
    def estimate(self) -> Estimate:
        """Return the value with its interval."""
        draws = np.zeros(0) if self.draws is None else self.draws[~np.isnan(self.draws)]
        if not len(draws):
            return Estimate(self.value)
        side = (1.0 - CONFIDENCE) / 2.0
        # Between a number and minus infinity there is nothing to interpolate.
        exactly: Literal["linear", "inverted_cdf"]
        exactly = "linear" if np.isfinite(draws).all() else "inverted_cdf"
        low, high = np.quantile(draws, (side, 1.0 - side), method=exactly)
        return Estimate(self.value, (float(low), float(high)))


def round_for_comparison(values: ArrayLike) -> Array:
    """Return values that compare: what differs by rounding errors alone is equal.

    Means of the same successes, added up in another order, differ in their last bits.
    """
    return np.round(np.asarray(values, float), 9)


def generator(name: str) -> np.random.Generator:
    """Return a random number generator that is seeded by a name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


@lru_cache(maxsize=256)  # drawing costs more than everything done with the draws
def _counts(runs: int, name: str) -> Array:
    """Return how often each run is drawn, [draw, run]; the name seeds the draws."""
    return generator(name).multinomial(runs, np.full(runs, 1.0 / runs), size=DRAWS)


def _resampled_means(values: Array, name: str) -> Array:
    """Return the means of resampled values, [draw, ...], for values [run, ...]."""
    return _counts(len(values), name) @ values / len(values)


def weights_by_seed(own: Sequence[int], seeds: Sequence[int], name: str) -> Array | None:
    """Return the weights [draw, run] of runs whose `own` seeds are some of the `seeds` drawn from.

    A sequence that lacks a seed shares the draws of those that have it. Where no seed that it has
    is drawn, its weights are NaN. None for a single seed, which cannot be resampled.
    """
    if len(set(own)) == 1:
        return None
    counts = _counts(len(seeds), name)[:, [seeds.index(seed) for seed in own]]
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), np.nan)


def weighted_mean(values: Array, weights: Array | None) -> Sampled:
    """Return the mean of values [run], resampled by weights [draw, run]."""
    return Sampled(float(np.mean(values)), None if weights is None else weights @ values)


def mean(values: Array, name: str) -> Sampled:
    """Return the mean of values [run]; the name seeds the draws."""
    draws = _resampled_means(values, name) if len(values) > 1 else None
    return Sampled(float(np.mean(values)), draws)


def mean_of(parts: Sequence[Sampled]) -> Sampled:
    """Return the mean of statistics, such as one for each sequence of a family.

    Draw k of the mean is the mean of draws k, so statistics with the same draws stay together.
    """
    value = float(np.mean([part.value for part in parts]))
    drawn = [part.draws for part in parts if part.draws is not None]
    if len(drawn) < len(parts):
        return Sampled(value)
    return Sampled(value, np.mean(drawn, axis=0))


def forward_transfer(
    areas: Array, tasks: Sequence[str], references: Mapping[str, Array], weights: Array | None
) -> tuple[Sampled, list[Sampled]]:
    """Return FT of the sequence and of each task, from areas [run, task] and references [run].

    Both are resampled; the references are resampled once for each distinct task. A task whose
    references leave nothing to gain is left out. Which tasks these are does not depend on the draw:
    in a draw that leaves nothing, FT of another task is minus infinity, or 0 if nothing is lost.
    """
    own = areas.mean(axis=0)
    reference = np.array([references[task].mean() for task in tasks])
    values = transfer(own, reference)
    kept = np.isfinite(values)
    overall = float(values[kept].mean()) if kept.any() else float("nan")
    if weights is None:
        return Sampled(overall), [Sampled(float(value)) for value in values]
    drawn = {task: _resampled_means(references[task], f"{task} alone") for task in set(tasks)}
    reference = np.stack([drawn[task] for task in tasks], axis=1)
    resampled = weights @ areas
    lost = np.where(resampled < reference, -np.inf, 0.0)
    draws = np.where(reference < 1.0, transfer(resampled, reference), lost)
    draws[np.isnan(resampled)] = np.nan
    each = [
        Sampled(float(value), draws[:, task] if kept[task] else None)
        for task, value in enumerate(values)
    ]
    whole = draws[:, kept].mean(axis=1) if kept.any() else None
    return Sampled(overall, whole), each


def interquartile_mean(values: Array) -> Array:
    """Return the mean of the middle half of the last axis: a quarter is cut a side."""
    cut = values.shape[-1] // 4
    return np.sort(values)[..., cut : values.shape[-1] - cut].mean(axis=-1)


def sampled_interquartile_mean(values: Array, name: str) -> Sampled:
    """Return the interquartile mean of values [run, task]; whole runs are resampled."""
    value = float(interquartile_mean(values.ravel()))
    if len(values) == 1:
        return Sampled(value)
    chosen = generator(name).integers(len(values), size=(DRAWS, len(values)))
    return Sampled(value, interquartile_mean(values[chosen].reshape(DRAWS, -1)))
