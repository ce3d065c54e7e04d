"""PopArt: adaptive normalisation of the critic's targets that preserves its outputs.

Each head tracks the mean and the variance of its raw targets. When they change, the last layer is
rewritten so that the unnormalised value stays the same. The variance is tracked directly instead
of as nu - mu^2: with targets near 1e5 that difference has no digits left in float32, and

    sigma'^2 = (1 - b) sigma^2 + b var(y) + b (1 - b) (mean(y) - mu)^2

is the same recursion without the difference. rlax has PopArt for one network with one set of
statistics; here both critics and both target critics of a head share one set of statistics.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from recall.nets.arrays import Array


class Statistics(NamedTuple):
    """Statistics of each head's targets, each [task]; initially mean 0 and variance 1."""

    mean: Array
    variance: Array
    updates: Array  # number of updates so far, for the bias-corrected step


def init(tasks: int) -> Statistics:
    """Return the initial statistics."""
    return Statistics(jnp.zeros(tasks), jnp.ones(tasks), jnp.zeros(tasks))


def sigma(statistics: Statistics, bounds: tuple[float, float]) -> Array:
    """Return the scale of each head [task], clipped to `bounds`."""
    return jnp.clip(jnp.sqrt(statistics.variance), *bounds)


def update(
    statistics: Statistics,
    batch_mean: Array,
    batch_variance: Array,
    present: Array,
    step_size: float,
    bias_corrected: bool,
) -> Statistics:
    """Move the statistics of `present` heads [task] one step towards those of the batch [task]."""
    count = statistics.updates + 1.0
    step = _corrected(step_size, count) if bias_corrected else step_size
    distance = batch_mean - statistics.mean
    mean = statistics.mean + step * distance
    variance = (1.0 - step) * (statistics.variance + step * distance**2) + step * batch_variance
    new = Statistics(mean, variance, count)
    return jax.tree.map(lambda after, before: jnp.where(present, after, before), new, statistics)


def _corrected(step_size: float, count: Array) -> Array:
    """Return beta / (1 - (1 - beta)^count), at most 1: above, the variance would be negative.

    The power is so near 1 that its difference from 1 would have only four digits left in float32,
    hence expm1 and log1p.
    """
    weight_so_far = -jnp.expm1(count * jnp.log1p(-step_size))
    return jnp.where(count > 1.0, step_size / weight_so_far, 1.0)


def preserve_outputs(
    layer: dict[str, Array], before: tuple[Array, Array], after: tuple[Array, Array]
) -> dict[str, Array]:
    """Rewrite last layers [task, critic, ...] so that sigma q + mean is unchanged.

    `before` and `after` are (mean, sigma), each [task].
    """
    (mean, scale), (new_mean, new_scale) = before, after
    ratio = (scale / new_scale)[:, None, None]
    shift = ((mean - new_mean) / new_scale)[:, None, None]
    return {
        "kernel": layer["kernel"] * ratio[..., None],
        "bias": layer["bias"] * ratio + shift,
    }
