"""Adam on parameters of which only some heads may move.

The same rule as optax.adam (a test holds them equal). It is written out because of the heads: an
update touches those in its batch, moments included, and must leave the others bit for bit alone
without reading or writing them, so that tasks outside the batch cost little.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

Array = jax.Array

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8


class Moments(NamedTuple):
    """The optimiser's state: as many numbers as parameters, twice, and one count."""

    steps: Array
    first: dict[str, Any]  # {"trunk": ..., "heads": ...}, or the heads alone
    second: dict[str, Any]


def init(params: dict[str, Any]) -> Moments:
    """Nothing seen yet."""
    zeros = jax.tree.map(jnp.zeros_like, params)
    return Moments(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))


def step(
    params: Any, gradient: Any, first: Any, second: Any, count: Array, rate: float
) -> tuple[Any, Any, Any]:
    """New parameters and moments of a tree of arrays; `count` includes this step."""
    unbias_first = 1.0 - FIRST_DECAY**count
    unbias_second = 1.0 - SECOND_DECAY**count

    def change(first: Array, second: Array) -> Array:
        return rate * (first / unbias_first) / (jnp.sqrt(second / unbias_second) + EPSILON)

    first = jax.tree.map(lambda m, g: FIRST_DECAY * m + (1.0 - FIRST_DECAY) * g, first, gradient)
    second = jax.tree.map(
        lambda v, g: SECOND_DECAY * v + (1.0 - SECOND_DECAY) * g**2, second, gradient
    )
    moved = jax.tree.map(lambda p, m, v: p - change(m, v), params, first, second)
    return moved, first, second
