"""n-step returns: the rewards of the rows that follow a sampled one, and where they end.

A ring holds the rows of one environment in the order of their steps, `stride` slots apart (a run's
environments alternate). The return of a row sums its rewards up to the end of its episode, to the
newest row, or over n steps, whichever comes first; the target adds the discounted value of the
observation behind the last of them. There are no importance weights, and no entropy bonus for the
steps between.
"""

from typing import NamedTuple

import jax.numpy as jnp

from recall.collect.transition import Columns
from recall.nets.arrays import Array


class NStep(NamedTuple):
    """Number of rewards in a target, and the discount factor of each step."""

    steps: int
    discount: float


class Future(NamedTuple):
    """What targets take from the steps after an action: returns + discount * value."""

    returns: Array  # [batch] discounted sum of up to n rewards
    discount: Array  # [batch] of the value behind them; 0 where the episode terminated
    next_observation: Array  # [batch, obs] of that value


def windows(slot: Array, end: Array, stride: Array, capacity: int, steps: int) -> Array:
    """Return the slots [batch, steps] of each row and those that follow it in its environment.

    `end` is the slot that is written next. Places after the newest row are -1.
    """
    later = jnp.arange(steps) * stride
    age = (slot - end) % capacity  # rows older than this one, in a full ring
    exists = age[:, None] + later < capacity
    return jnp.where(exists, (slot[:, None] + later) % capacity, -1)


def future(columns: Columns, rows: Array, exists: Array, n_step: NStep) -> Future:
    """Return the future of each row from its window [batch, n, columns]; the first row exists."""
    _, _, reward, terminated, truncated, following = columns.split(rows)
    discounts = [n_step.discount**power for power in range(n_step.steps + 1)]
    returns, found = reward[:, 0], following[:, 0]
    discount = discounts[1] * (1.0 - terminated[:, 0])
    goes_on = terminated[:, 0] + truncated[:, 0] == 0
    for step in range(1, n_step.steps):
        goes_on &= exists[:, step]
        returns += jnp.where(goes_on, discounts[step] * reward[:, step], 0.0)
        further = discounts[step + 1] * (1.0 - terminated[:, step])
        discount = jnp.where(goes_on, further, discount)
        found = jnp.where(goes_on[:, None], following[:, step], found)
        goes_on &= terminated[:, step] + truncated[:, step] == 0
    return Future(returns, discount, found)
