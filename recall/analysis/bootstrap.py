"""Bootstrap confidence intervals over seeds, and the interquartile mean of Agarwal et al., 2021.

Draws depend only on the name and the number of the runs, so a report is reproducible.
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
    """A statistic of the data and of resampled data, [draw]; a single run has no draws."""

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
    """Return values without their last bits, which depend on the order of additions."""
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

    They are NaN where no own seed is drawn. None for a single seed, which cannot be resampled.
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
    """Return the mean of statistics, such as one for each sequence, draw by draw."""
    value = float(np.mean([part.value for part in parts]))
    drawn = [part.draws for part in parts if part.draws is not None]
    if len(drawn) < len(parts):
        return Sampled(value)
    return Sampled(value, np.mean(drawn, axis=0))


def forward_transfer(
    areas: Array, tasks: Sequence[str], references: Mapping[str, Array], weights: Array | None
) -> Sampled:
    """Return the mean FT of tasks with room to gain, from areas [run, task] and references [run].

    In a draw that leaves nothing to gain, FT is minus infinity, or 0 if nothing is lost.
    """
    reference = np.array([references[task].mean() for task in tasks])
    value = float(transfer(areas.mean(axis=0), reference).mean())
    if weights is None:
        return Sampled(value)
    drawn = {task: _resampled_means(references[task], f"{task} alone") for task in set(tasks)}
    reference = np.stack([drawn[task] for task in tasks])  # [task, draw]
    resampled = np.ascontiguousarray((weights @ areas).T)
    lost = np.where(resampled < reference, -np.inf, 0.0)
    draws = np.where(reference < 1.0, transfer(resampled, reference), lost)
    draws[np.isnan(resampled)] = np.nan
    return Sampled(value, draws.mean(axis=0))


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
