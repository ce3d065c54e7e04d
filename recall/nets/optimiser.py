"""Adam, gradient clipping and Polyak averaging of parameters whose heads may be `OldAndNew`.

Adam's rule is that of Keras, which both reference code bases use: epsilon is added to the root of
the second moment before the bias correction, so it weighs more in the first steps. For gradients
far above epsilon it equals optax.adam (checked by a test). It is implemented here because of the
heads: each has its own count of steps, as an update leaves those of other tasks alone.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import OldAndNew, by_part

FIRST_DECAY, SECOND_DECAY = 0.9, 0.999
_SMALL = 2**14  # numbers: below the kernel of a hidden layer, above biases and last layers


class Moments(NamedTuple):
    """State of Adam: two moments of every parameter, and the number of steps taken."""

    steps: Params  # {"shared": [], "heads": [task]}: every head has its own count
    first: Params
    second: Params


def init(params: Params) -> Moments:
    """Return the state of an optimiser that has taken no step."""
    tasks = jax.tree.leaves(params["heads"])[0].shape[0]
    steps = {"shared": jnp.zeros((), jnp.int32), "heads": jnp.zeros(tasks, jnp.int32)}
    return Moments(steps, *(jax.tree.map(jnp.zeros_like, params) for _ in range(2)))


def adam(
    params: Params, gradient: Params, moments: Moments, rate: float, epsilon: float
) -> tuple[Params, Moments]:
    """Return parameters and moments after one step of all of them."""
    steps = jax.tree.map(lambda count: count + 1, moments.steps)
    first = jax.tree.map(
        lambda m, g: FIRST_DECAY * m + (1.0 - FIRST_DECAY) * g, moments.first, gradient
    )
    second = jax.tree.map(
        lambda v, g: SECOND_DECAY * v + (1.0 - SECOND_DECAY) * g**2, moments.second, gradient
    )

    def move(params: Any, first: Any, second: Any, count: Array) -> Any:
        corrected = rate * jnp.sqrt(1.0 - SECOND_DECAY**count) / (1.0 - FIRST_DECAY**count)

        def change(first: Array, second: Array) -> Array:
            step_size = corrected.reshape(*corrected.shape, *(1,) * (first.ndim - corrected.ndim))
            return step_size * first / (jnp.sqrt(second) + epsilon)

        return jax.tree.map(lambda p, m, v: p - change(m, v), params, first, second)

    moved = {
        name: by_part(move, part, first[name], second[name], steps["heads"])
        if name == "heads"
        else move(part, first[name], second[name], steps["shared"])
        for name, part in params.items()
    }
    return moved, Moments(steps, first, second)


def polyak(average: Any, params: Any, share: float) -> Any:
    """Return `average` moved by `share` of the way towards `params`, leaf by leaf."""
    return jax.tree.map(lambda a, p: a + share * (p - a), average, params)


def global_norm(tree: Params) -> Array:
    """Return the L2 norm of all leaves together.

    Small arrays are concatenated first, because each reduction launches a kernel.
    """
    leaves = jax.tree.leaves(tree)
    small = [leaf.ravel() for leaf in leaves if leaf.size <= _SMALL]
    large = [leaf for leaf in leaves if leaf.size > _SMALL]
    if small:
        large.append(jnp.concatenate(small))
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in large))


def clip(gradient: Params, limit: float | None, apart: bool = True) -> tuple[Params, Metrics]:
    """Bound the norm of a network's gradient; return it with one trunk, and the norms.

    Where the gradients of old and of new rows are `apart`, each has its own bound: an old task
    with a large gradient does not scale down the new task's. Otherwise their sum is bounded.
    """
    if not isinstance(gradient["trunk"], OldAndNew):
        whole, norm = bounded(gradient, limit)
        return whole, {"grad_norm": norm}
    of_old = {name: part.old for name, part in gradient.items() if isinstance(part, OldAndNew)}
    of_new = {
        name: part.new if isinstance(part, OldAndNew) else part for name, part in gradient.items()
    }
    old, old_norm = bounded(of_old, limit if apart else None)
    new, new_norm = bounded(of_new, limit if apart else None)
    joint = {"trunk": old["trunk"] + new["trunk"], "heads": OldAndNew(old["heads"], new["heads"])}
    of_all = new | joint
    if not apart:
        of_all, _ = bounded(of_all, limit)
    return of_all, {"grad_norm": new_norm, "old_grad_norm": old_norm}


def bounded(tree: Params, limit: float | None) -> tuple[Params, Array]:
    """Return the tree with a norm of at most `limit`, and the norm before."""
    norm = global_norm(tree)
    if limit is None:
        return tree, norm
    scale = jnp.minimum(1.0, limit / jnp.maximum(norm, 1e-12))
    return jax.tree.map(lambda leaf: leaf * scale, tree), norm
