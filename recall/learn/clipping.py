"""Gradient clipping: new and old rows apart, so that neither scales down the other."""

import jax
import jax.numpy as jnp

from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import Blocks

_SMALL = 2**14  # numbers: below the kernel of a hidden layer, above biases and last layers


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


def clip(gradient: Params, limit: float | None) -> tuple[Params, Metrics]:
    """Bound the norm of a network's gradient; return it with one trunk, and the norms.

    Where a batch has old rows, the gradients of new and of old rows come apart (`Blocks`) and each
    has its own bound: an old task with a large gradient does not scale down the new task's.
    """
    if not isinstance(gradient["trunk"], Blocks):
        bounded, norm = _bounded(gradient, limit)
        return bounded, {"grad_norm": norm}
    of_old = {name: part.old for name, part in gradient.items() if isinstance(part, Blocks)}
    of_new = {
        name: part.new if isinstance(part, Blocks) else part for name, part in gradient.items()
    }
    old, old_norm = _bounded(of_old, limit)
    new, new_norm = _bounded(of_new, limit)
    joint = {"trunk": old["trunk"] + new["trunk"], "heads": Blocks(old["heads"], new["heads"])}
    return new | joint, {"grad_norm": new_norm, "old_grad_norm": old_norm}


def _bounded(tree: Params, limit: float | None) -> tuple[Params, Array]:
    norm = global_norm(tree)
    if limit is None:
        return tree, norm
    scale = jnp.minimum(1.0, limit / jnp.maximum(norm, 1e-12))
    return jax.tree.map(lambda leaf: leaf * scale, tree), norm
