"""Adam on flat parameters, of which only some heads may move.

The same rule as optax.adam (a test holds them equal). It is written out because of the heads: an
update touches those in its batch, moments included, and must leave the others bit for bit alone
without reading or writing them, so that its cost does not grow with the number of tasks.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

Array = jax.Array

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8


class Moments(NamedTuple):
    """The optimiser's state: as many numbers as parameters, twice, and one count."""

    steps: Array
    first: dict[str, Array]  # {"trunk": ..., "heads": [task, ...]}, or the heads alone
    second: dict[str, Array]


def init(params: dict[str, Array]) -> Moments:
    """Nothing seen yet."""
    zeros = jax.tree.map(jnp.zeros_like, params)
    return Moments(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))


def step(
    params: Array, gradient: Array, first: Array, second: Array, count: Array, rate: float
) -> tuple[Array, Array, Array]:
    """New parameters and moments of one array; `count` includes this step."""
    first = FIRST_DECAY * first + (1.0 - FIRST_DECAY) * gradient
    second = SECOND_DECAY * second + (1.0 - SECOND_DECAY) * gradient**2
    unbiased_first = first / (1.0 - FIRST_DECAY**count)
    unbiased_second = second / (1.0 - SECOND_DECAY**count)
    change = rate * unbiased_first / (jnp.sqrt(unbiased_second) + EPSILON)
    return params - change, first, second
