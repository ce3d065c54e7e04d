"""Gradient clipping: new and old rows apart, so that neither scales down the other, or together."""

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


def clip(gradient: Params, limit: float | None, apart: bool = True) -> tuple[Params, Metrics]:
    """Bound the norm of a network's gradient; return it with one trunk, and the norms.

    Where a batch has old rows, the gradients of new and of old rows come apart (`Blocks`). If they
    are clipped `apart`, each has its own bound: an old task with a large gradient does not scale
    down the new task's. Otherwise the bound is that of the gradient of all rows.
    """
    if not isinstance(gradient["trunk"], Blocks):
        bounded, norm = _bounded(gradient, limit)
        return bounded, {"grad_norm": norm}
    of_old = {name: part.old for name, part in gradient.items() if isinstance(part, Blocks)}
    of_new = {
        name: part.new if isinstance(part, Blocks) else part for name, part in gradient.items()
    }
    old, old_norm = _bounded(of_old, limit if apart else None)
    new, new_norm = _bounded(of_new, limit if apart else None)
    joint = {"trunk": old["trunk"] + new["trunk"], "heads": Blocks(old["heads"], new["heads"])}
    of_all = new | joint
    if not apart:
        of_all, _ = _bounded(of_all, limit)
    return of_all, {"grad_norm": new_norm, "old_grad_norm": old_norm}


def _bounded(tree: Params, limit: float | None) -> tuple[Params, Array]:
    norm = global_norm(tree)
    if limit is None:
        return tree, norm
    scale = jnp.minimum(1.0, limit / jnp.maximum(norm, 1e-12))
    return jax.tree.map(lambda leaf: leaf * scale, tree), norm
