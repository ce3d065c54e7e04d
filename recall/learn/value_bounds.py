"""The values that a task's rewards allow, and targets kept within them.

With rewards between r_min and r_max no discounted return leaves

    [min(r_min, r_min / (1 - gamma)), max(r_max, r_max / (1 - gamma))]

(the smaller and the larger of one step and of infinitely many: an episode may end at any time).
Soft values also hold alpha times an entropy of at most log 2 per action dimension; below zero
they are allowed what the target entropy costs. Alpha may fall by a factor of e in a thousand
updates of Adam, and values follow with a lag: targets have room for the alpha of a thousand
updates ago, and critics, which follow their targets with a lag of their own, of two thousand.

Nothing new is collected for an old task, and the minimum of two critics is biased downwards where
data do not correct it. PopArt rescales whatever comes, so that bias can grow without limit
(docs/learning.md). Bounded targets cannot.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from recall.nets.arrays import Array

TARGET_LAG = 1.0
"""Thousands of updates by which targets may lag behind alpha."""
CRITIC_LAG = 2.0
"""Thousands of updates by which the critics' own values may lag behind alpha."""


class RewardRange(NamedTuple):
    """The smallest and largest reward seen of each task, [task]."""

    lowest: Array
    highest: Array


def init(tasks: int) -> RewardRange:
    """Return the range of tasks of which no reward was seen."""
    return RewardRange(*(jnp.full(tasks, value, jnp.float32) for value in (jnp.inf, -jnp.inf)))


def widen(rewards: RewardRange, reward: Array, head: Array) -> RewardRange:
    """Add the rewards [batch] of a batch's rows, each to the range [heads] of its head."""
    mine = head == jnp.arange(rewards.lowest.shape[0])[:, None]  # [heads, batch]
    lowest = jnp.min(jnp.where(mine, reward, jnp.inf), axis=1)
    highest = jnp.max(jnp.where(mine, reward, -jnp.inf), axis=1)
    return RewardRange(jnp.minimum(rewards.lowest, lowest), jnp.maximum(rewards.highest, highest))


def value_bounds(
    rewards: RewardRange,
    discount: float,
    alpha: Array,
    action_size: int,
    target_entropy: Array,
    lag: float = TARGET_LAG,
) -> tuple[Array, Array]:
    """Return the lowest and highest value [heads] that these rewards allow.

    Heads of which no reward was seen are not bounded.
    """
    horizon = jnp.reciprocal(1.0 - discount)
    low = jnp.minimum(rewards.lowest, rewards.lowest * horizon)
    high = jnp.maximum(rewards.highest, rewards.highest * horizon)
    room = discount * horizon * math.exp(lag) * alpha
    least, most = jnp.minimum(target_entropy, 0.0), action_size * math.log(2.0)
    bounded = (rewards.lowest <= rewards.highest) & (discount < 1.0)  # endless sums have no bound
    low = jnp.where(bounded, low + room * least, -jnp.inf)
    return low, jnp.where(bounded, high + room * most, jnp.inf)
