"""Bootstrap confidence intervals over seeds, and two robust statistics for comparisons.

Whole runs are resampled with replacement, and the statistic is computed again for each draw. The
interval lies between the 5 % and the 95 % quantile of these draws, as in the paper. The
interquartile mean and the probability of improvement follow Agarwal et al., Deep Reinforcement
Learning at the Edge of the Statistical Precipice, 2021. The draws depend only on the name and the
number of the runs, so a report is reproducible, and all statistics of the same runs use the same
draws.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from recall.results.metrics import transfer

Array = np.ndarray
DRAWS = 4000
CONFIDENCE = 0.9
_CHUNK = 250  # number of draws sorted at once


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
        draws = np.zeros(0) if self.draws is None else self.draws[np.isfinite(self.draws)]
        if not len(draws):
            return Estimate(self.value)
        side = (1.0 - CONFIDENCE) / 2.0
        low, high = np.quantile(draws, (side, 1.0 - side))
        return Estimate(self.value, (float(low), float(high)))


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
    areas: Array, tasks: Sequence[str], references: Mapping[str, Array], name: str
) -> tuple[Sampled, list[Sampled]]:
    """Return FT of the sequence and of each task, from areas [run, task] and references [run].

    Both are resampled; the references are resampled once for each distinct task.
    """
    own = areas.mean(axis=0)
    reference = np.array([references[task].mean() for task in tasks])
    values = transfer(own, reference)
    if len(areas) == 1:
        return Sampled(_mean(values)), [Sampled(float(value)) for value in values]
    drawn = {task: _resampled_means(references[task], f"{task} alone") for task in set(tasks)}
    reference = np.stack([drawn[task] for task in tasks], axis=1)
    draws = transfer(_resampled_means(areas, name), reference)
    each = [Sampled(float(value), draws[:, task]) for task, value in enumerate(values)]
    return Sampled(_mean(values), _mean_of_rows(draws)), each


def _mean(values: Array) -> float:
    return float(_mean_of_rows(values[None])[0])


def _mean_of_rows(values: Array) -> Array:
    """Return the mean of the finite numbers in each row, or NaN if a row has none."""
    there = np.isfinite(values)
    count = there.sum(axis=1)
    total = np.where(there, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def interquartile_mean(values: Array) -> float:
    """Return the mean of the middle half: a quarter of the values, rounded down, is cut a side."""
    return float(_middle_mean(np.ravel(values)[None])[0])


def _middle_mean(rows: Array) -> Array:
    cut = rows.shape[1] // 4
    return np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1)


def sampled_interquartile_mean(values: Array, name: str) -> Sampled:
    """Return the interquartile mean of values [run, task]; whole runs are resampled."""
    if len(values) == 1:
        return Sampled(interquartile_mean(values))
    random = generator(name)
    draws = []
    for start in range(0, DRAWS, _CHUNK):
        chosen = random.integers(len(values), size=(min(_CHUNK, DRAWS - start), len(values)))
        draws.append(_middle_mean(values[chosen].reshape(len(chosen), -1)))
    return Sampled(interquartile_mean(values), np.concatenate(draws))


def probability_of_improvement(
    ours: Array, others: Array, names: tuple[str, str] = ("ours", "others")
) -> Sampled:
    """Return how often a run of `ours` [run] exceeds one of `others` [run]; ties count half."""
    wins = (ours[:, None] > others) + 0.5 * (ours[:, None] == others)
    value = float(wins.mean())
    if len(ours) == 1 or len(others) == 1:
        return Sampled(value)
    left, right = _counts(len(ours), names[0]), _counts(len(others), names[1])
    draws = np.sum(left @ wins * right, axis=1)
    return Sampled(value, draws / (len(ours) * len(others)))
