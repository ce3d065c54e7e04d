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
from recall.nets.heads import Heads
from recall.settings import PopArtSettings


class Statistics(NamedTuple):
    """Statistics of each head's targets, each [heads]; initially mean 0 and variance 1."""

    mean: Array
    variance: Array
    updates: Array  # number of updates so far, for the bias-corrected step


class Scale(NamedTuple):
    """Mean and standard deviation by which targets are normalised, [heads] or [batch]."""

    mean: Array
    sigma: Array

    def of_rows(self, head: Array) -> "Scale":
        """Return the scale [batch] of the head of every row."""
        return Scale(self.mean[head], self.sigma[head])


def init(tasks: int) -> Statistics:
    """Return the initial statistics."""
    return Statistics(jnp.zeros(tasks), jnp.ones(tasks), jnp.zeros(tasks))


def scale_of(statistics: Statistics, settings: PopArtSettings) -> Scale:
    """Return the scale of each head [heads]."""
    return Scale(statistics.mean, jnp.clip(jnp.sqrt(statistics.variance), *settings.sigma_bounds))


def moments_by_head(values: Array, head: Array, heads: int) -> tuple[Array, Array, Array]:
    """Return mean, variance and presence, [heads], of values [batch] by the head of their row.

    A head counts as present from two rows on, because one value has no spread.
    """
    one_hot = jax.nn.one_hot(head, heads, dtype=values.dtype, axis=0)  # [heads, batch]
    count = jnp.sum(one_hot, axis=1)
    safe = jnp.maximum(count, 1.0)
    mean = jnp.sum(one_hot * values, axis=1) / safe
    variance = jnp.sum(one_hot * (values - mean[head]) ** 2, axis=1) / safe
    return mean, variance, count > 1


def scale_of_loss(
    statistics: Statistics, settings: PopArtSettings, target: Array, head: Array
) -> Scale:
    """Return the scale [heads] that normalises the targets [batch] in the critics' loss.

    A head that was never updated has no statistics yet: its first batch normalises itself, with
    what becomes its statistics afterwards. By (0, 1) its first gradient would be as large as its
    rewards, and stay in Adam's second moment for a thousand updates.
    """
    scale = scale_of(statistics, settings)
    if not settings.bias_corrected:
        return scale
    # A single row counts too: it becomes its own mean, and its normalised target 0.
    mean, variance, _ = moments_by_head(target, head, len(scale.sigma))
    untouched = statistics.updates == 0
    own = jnp.clip(jnp.sqrt(variance), *settings.sigma_bounds)
    return Scale(jnp.where(untouched, mean, scale.mean), jnp.where(untouched, own, scale.sigma))


def move(
    statistics: Statistics, settings: PopArtSettings, target: Array, head: Array, moves: Heads
) -> tuple[Statistics, Scale, Scale]:
    """Return the statistics after a batch's targets [batch], and the scales before and after.

    Only heads that `moves` [heads] allows are changed. Output preservation rewrites the critics'
    last layers from the one scale to the other.
    """
    before, followed = scale_of(statistics, settings), target
    if settings.statistics_of == "normalised":
        followed = (target - before.mean[head]) / before.sigma[head]
    mean, variance, present = moments_by_head(followed, head, len(before.mean))
    present &= moves
    new = update(statistics, mean, variance, present, settings.step_size, settings.bias_corrected)
    after = scale_of(new, settings)
    if settings.bias_corrected:
        # A head's first batch sets its scale. Nothing was learned at the scale before it, so its
        # outputs are not rewritten: they would shrink to a constant, a copied critic's too.
        begins = statistics.updates == 0
        before = Scale(
            jnp.where(begins, after.mean, before.mean), jnp.where(begins, after.sigma, before.sigma)
        )
    return new, before, after


def update(
    statistics: Statistics,
    batch_mean: Array,
    batch_variance: Array,
    present: Array,
    step_size: float,
    bias_corrected: bool,
) -> Statistics:
    """Move the statistics of `present` heads [heads] one step towards those of the batch."""
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


def preserve_outputs(layer: dict[str, Array], before: Scale, after: Scale) -> dict[str, Array]:
    """Rewrite last layers [heads, critic, ...] so that sigma q + mean is unchanged.

    `before` and `after` are each [heads].
    """
    ratio = (before.sigma / after.sigma)[:, None, None]
    shift = ((before.mean - after.mean) / after.sigma)[:, None, None]
    return {
        "kernel": layer["kernel"] * ratio[..., None],
        "bias": layer["bias"] * ratio + shift,
    }
