"""The scale of each head's targets: PopArt's statistics in the loss, and after a batch.

Without `normalise_targets` every head keeps mean 0 and scale 1, and nothing here does anything.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from recall.learn import losses
from recall.learn.agent import Agent
from recall.learn.state import Forward, Networks, Trainable
from recall.nets import popart
from recall.nets.arrays import Array
from recall.nets.heads import put_heads
from recall.nets.popart import Statistics


class Scale(NamedTuple):
    """Mean and standard deviation of targets, [heads] or [batch]."""

    mean: Array
    sigma: Array

    def of_rows(self, head: Array) -> "Scale":
        """Return the scale [batch] of the head of every row."""
        return Scale(self.mean[head], self.sigma[head])


def scale_of(agent: Agent, part: Networks | Trainable) -> Scale:
    """Return the heads' scale [heads]; mean 0 and sigma 1 where nothing is normalised."""
    statistics: Statistics = part.popart["heads"]
    if not agent.method.normalise_targets:  # bounds that exclude 1 must not scale either
        return Scale(jnp.zeros_like(statistics.mean), jnp.ones_like(statistics.mean))
    return Scale(statistics.mean, popart.sigma(statistics, agent.settings.popart.sigma_bounds))


def scale_of_loss(agent: Agent, part: Networks, target: Array, head: Array) -> Scale:
    """Return the scale [batch] that normalises the targets [batch] in the critics' loss.

    A head that was never updated has no statistics yet: its first batch normalises itself, with
    what becomes its statistics afterwards. By (0, 1) its first gradient would be as large as its
    rewards, and stay in Adam's second moment for a thousand updates.
    """
    settings = agent.settings.popart
    scale = scale_of(agent, part)
    if agent.method.normalise_targets and settings.bias_corrected:
        # A single row counts too: it becomes its own mean, and its normalised target 0.
        first, variance, _ = losses.moments_by_head(target, head, len(scale.sigma))
        untouched = part.popart["heads"].updates == 0
        own = jnp.clip(jnp.sqrt(variance), *settings.sigma_bounds)
        scale = Scale(
            jnp.where(untouched, first, scale.mean), jnp.where(untouched, own, scale.sigma)
        )
    return scale.of_rows(head)


def move_statistics(
    agent: Agent, whole: Trainable, forward: Forward
) -> tuple[Statistics, Scale, Scale]:
    """Return all heads' statistics after the batch, and its heads' scales before and after.

    Output preservation rewrites the critics' last layers from the one scale to the other.
    """
    settings, batch = agent.settings.popart, forward.batch
    statistics: Statistics = whole.popart["heads"]
    heads = jnp.asarray(batch.heads)
    before = scale_of(agent, whole).of_rows(heads)
    if not agent.method.normalise_targets:
        return statistics, before, before
    head = batch.head_of_row()
    followed = forward.target
    if settings.statistics_of == "normalised":
        followed = (followed - before.mean[head]) / before.sigma[head]
    mean, variance, present = losses.moments_by_head(followed, head, len(batch.heads))
    if agent.method.distils_critics:  # old values stay, and so does their scale
        present &= jnp.arange(len(batch.heads)) == len(batch.heads) - 1
    part = jax.tree.map(lambda leaf: leaf[heads], statistics)
    new = popart.update(part, mean, variance, present, settings.step_size, settings.bias_corrected)
    after = Scale(new.mean, popart.sigma(new, settings.sigma_bounds))
    if settings.bias_corrected:
        # A head's first batch sets its scale. Nothing was learnt at the scale before it, so its
        # outputs are not rewritten: they would shrink to a constant, a copied critic's too.
        begins = part.updates == 0
        before = Scale(
            jnp.where(begins, after.mean, before.mean), jnp.where(begins, after.sigma, before.sigma)
        )
    moved = jax.tree.map(lambda leaf, value: put_heads(leaf, value, batch.heads), statistics, new)
    return moved, before, after
