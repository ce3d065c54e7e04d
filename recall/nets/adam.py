"""Adam for parameters of which an update changes only some heads.

The rule is that of Keras, which both reference code bases use: epsilon is added to the root of the
second moment before the bias correction, so it weighs more in the first steps. For gradients far
above epsilon it equals optax.adam (checked by a test). It is implemented here because of the
heads: an update changes only the heads in its batch, including their moments and step counts. It
must leave the others unchanged, bit for bit, without reading or writing them, so that tasks
outside the batch cost little.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.nets.arrays import Array

FIRST_DECAY, SECOND_DECAY = 0.9, 0.999


class Moments(NamedTuple):
    """State of the optimiser: two moments of every parameter, and the number of steps taken."""

    steps: dict[str, Array]  # {"shared": [], "heads": [task]}: every head has its own count
    first: dict[str, Any]  # {"trunk": ..., "heads": ...}, or the heads alone
    second: dict[str, Any]


def init(params: dict[str, Any]) -> Moments:
    """Return the state of an optimiser that has taken no step."""
    tasks = jax.tree.leaves(params["heads"])[0].shape[0]
    steps = {"shared": jnp.zeros((), jnp.int32), "heads": jnp.zeros(tasks, jnp.int32)}
    return Moments(steps, *(jax.tree.map(jnp.zeros_like, params) for _ in range(2)))


def _next_moments(first: Any, second: Any, gradient: Any) -> tuple[Any, Any]:
    """Return both moments after a gradient."""
    first = jax.tree.map(lambda m, g: FIRST_DECAY * m + (1.0 - FIRST_DECAY) * g, first, gradient)
    second = jax.tree.map(
        lambda v, g: SECOND_DECAY * v + (1.0 - SECOND_DECAY) * g**2, second, gradient
    )
    return first, second


def _moved(params: Any, first: Any, second: Any, count: Array, rate: float, epsilon: float) -> Any:
    """Return parameters after a step along these moments.

    `count` includes this step. It is a scalar, or [heads] for leaves [heads, ...].
    """
    corrected = rate * jnp.sqrt(1.0 - SECOND_DECAY**count) / (1.0 - FIRST_DECAY**count)

    def change(first: Array, second: Array) -> Array:
        step_size = corrected.reshape(*corrected.shape, *(1,) * (first.ndim - corrected.ndim))
        return step_size * first / (jnp.sqrt(second) + epsilon)

    return jax.tree.map(lambda p, m, v: p - change(m, v), params, first, second)


def step(
    params: Any,
    gradient: Any,
    first: Any,
    second: Any,
    count: Array,
    rate: float,
    epsilon: float,
) -> tuple[Any, Any, Any]:
    """Return the new parameters and moments of a tree of arrays."""
    first, second = _next_moments(first, second, gradient)
    return _moved(params, first, second, count, rate, epsilon), first, second
