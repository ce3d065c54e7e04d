"""Heads that take turns, rewritten in place on a CPU.

XLA for CPUs writes a head into the arrays of all tasks in place only if nothing else reads the
array that is overwritten. Otherwise it copies the heads of all tasks. So an update of heads is
split into passes, each of which overwrites arrays that it alone reads:

    moments       from the moments and the gradient
    parameters    from the parameters and the new moments
    targets       from the targets and the new parameters

Each pass is a loop over the heads in the batch. In a common loop, the compiler would compute what a
later pass reads once more from the arrays that an earlier one overwrites.
"""

from collections.abc import Callable
from typing import Any

import jax

from recall.nets.heads import Array, Heads, Rows, Turns, in_blocks


def current_apart(heads: Any, task: Array) -> Turns:
    """Return heads [task, ...] with those of `task`, the current one, apart."""
    return Turns(heads, _one(heads, task))


def current_back(turns: Turns, task: Array) -> Any:
    """Return the heads of all tasks, after those of `task` were apart."""
    return _put(turns.every, turns.new, task)


def rewrite(
    function: Callable[..., tuple[Any, ...]],
    trees: tuple[Turns, ...],
    read: tuple[Turns, ...],
    inputs: tuple[Any, ...],
    heads: Heads,
) -> tuple[Turns, ...]:
    """Rewrite `heads` of `trees`, the current one last, and leave the other heads unchanged.

    `function` receives the same heads [k, ...] of every tree, then of the trees that are only
    `read`, then of the inputs [heads, ...], and returns the new heads of the trees. It must compute
    each tree from its own old value, from what is only read and from the inputs. If it also read
    another tree's old value, that tree would be copied.
    """
    rows = Rows(1, len(heads) - 1, 1)
    blocks = [in_blocks(each, rows) for each in inputs]
    everything = tuple(turns.every for turns in read)

    def one_head(nth: Array, old: tuple[Any, ...]) -> tuple[Any, ...]:
        head = heads[nth]
        taken = _one((*old, *everything), head)
        new = function(*taken, *(_one(each.old, nth) for each in blocks))
        return tuple(_put(tree, value, head) for tree, value in zip(old, new, strict=True))

    old = jax.lax.fori_loop(0, len(heads) - 1, one_head, tuple(turns.every for turns in trees))
    new = function(*(turns.new for turns in (*trees, *read)), *(each.new for each in blocks))
    return tuple(Turns(*pair) for pair in zip(old, new, strict=True))


def _one(tree: Any, position: Array) -> Any:
    """Return the heads at one position, with an axis of length 1."""
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, position, 1), tree)


def _put(tree: Any, value: Any, position: Array) -> Any:
    """Return the tree with the heads at one position replaced."""
    return jax.tree.map(
        lambda leaf, block: jax.lax.dynamic_update_slice_in_dim(leaf, block, position, 0),
        tree,
        value,
    )
