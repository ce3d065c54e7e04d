"""Adam on parameters of which only some heads may move.

The rule is Keras's, which both reference code bases use: epsilon is added to the root of the
second moment before that is corrected for its bias, so it weighs more in the first steps. With
gradients far above epsilon it is optax.adam (a test holds them equal). It is written out because
of the heads: an update touches those in its batch, moments and step count included, and must leave
the others bit for bit alone without reading or writing them, so that tasks outside the batch cost
little.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

Array = jax.Array

FIRST_DECAY, SECOND_DECAY = 0.9, 0.999


class Moments(NamedTuple):
    """The optimiser's state: as many numbers as parameters, twice, and the steps taken."""

    steps: dict[str, Array]  # {"shared": [], "heads": [task]}: each head counts its own
    first: dict[str, Any]  # {"trunk": ..., "heads": ...}, or the heads alone
    second: dict[str, Any]


def init(params: dict[str, Any]) -> Moments:
    """Return the state of an optimiser that has taken no step."""
    tasks = jax.tree.leaves(params["heads"])[0].shape[0]
    steps = {"shared": jnp.zeros((), jnp.int32), "heads": jnp.zeros(tasks, jnp.int32)}
    return Moments(steps, *(jax.tree.map(jnp.zeros_like, params) for _ in range(2)))


def step(
    params: Any,
    gradient: Any,
    first: Any,
    second: Any,
    count: Array,
    rate: float,
    epsilon: float,
) -> tuple[Any, Any, Any]:
    """Return new parameters and moments of a tree of arrays.

    `count` includes this step. It is one number, or one for each head of leaves [heads, ...].
    """
    corrected = rate * jnp.sqrt(1.0 - SECOND_DECAY**count) / (1.0 - FIRST_DECAY**count)

    def change(first: Array, second: Array) -> Array:
        step_size = corrected.reshape(*corrected.shape, *(1,) * (first.ndim - corrected.ndim))
        return step_size * first / (jnp.sqrt(second) + epsilon)

    first = jax.tree.map(lambda m, g: FIRST_DECAY * m + (1.0 - FIRST_DECAY) * g, first, gradient)
    second = jax.tree.map(
        lambda v, g: SECOND_DECAY * v + (1.0 - SECOND_DECAY) * g**2, second, gradient
    )
    moved = jax.tree.map(lambda p, m, v: p - change(m, v), params, first, second)
    return moved, first, second
