"""Trees with a task axis: take some tasks' heads and write them back, leaving others alone.

A leaf has a leading task axis if it is below a key named "heads". The functions here work on any
tree with such leaves, whether of networks or of statistics.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recall.nets.arrays import Array

Heads = Array | np.ndarray  # [k]; a NumPy array if they are known at compile time


class Rows(NamedTuple):
    """Assignment of a batch's rows to heads. It is static, so that each head multiplies one block.

    The first `new` rows belong to the last head, that of the current task. They are followed by
    `groups` groups of `group_size` rows, where group i belongs to head i.
    """

    new: int
    groups: int = 0
    group_size: int = 0

    def head_of_row(self) -> Array:
        """Return the head of every row, [total]."""
        groups = np.arange(self.groups).repeat(self.group_size)
        return jnp.asarray(np.concatenate([np.full(self.new, self.groups), groups]))


def head_of(heads: Any, task: Array | int | slice) -> Any:
    """Return the layers of one task's head, or of several."""
    return jax.tree.map(lambda leaf: leaf[task], heads)


class Blocks(NamedTuple):
    """Heads of one batch, split into those of its groups (old) and the current one (new)."""

    old: Any
    new: Any


def is_blocks(tree: Any) -> bool:
    """Return True if a tree is in blocks."""
    return isinstance(tree, Blocks)


def in_blocks(heads: Any, rows: Rows | Array) -> Any:
    """Return heads as `Blocks` if the rows have groups, else unchanged.

    If heads are split before differentiation, their gradients come in blocks too, and need not be
    joined to compute norms.
    """
    if isinstance(heads, Blocks) or not isinstance(rows, Rows) or not rows.groups:
        return heads
    old = jax.tree.map(lambda leaf: leaf[: rows.groups], heads)
    new = jax.tree.map(lambda leaf: leaf[rows.groups :], heads)
    return Blocks(old, new)


def twice_trunk(trunk: Any, rows: Rows | Array) -> Any:
    """Return separate copies of the trunk for old and new rows if the rows have groups.

    Differentiating the two copies gives separate gradients for old and new rows.
    """
    return Blocks(trunk, trunk) if isinstance(rows, Rows) and rows.groups else trunk


def one_trunk(params: Any) -> Any:
    """Return a network with one trunk for all rows, for passes that are not differentiated."""
    trunk = params["trunk"]
    return params | {"trunk": trunk.new} if isinstance(trunk, Blocks) else params


def new_head(params: Any) -> Any:
    """Return a network with the last head alone, that of the current task."""
    heads = params["heads"]
    last = heads.new if is_blocks(heads) else head_of(heads, slice(-1, None))
    return one_trunk(params) | {"heads": last}


def summed_trunk(gradient: Any) -> Any:
    """Return the gradient with that of the trunk summed over old and new rows."""
    trunk = gradient["trunk"]
    return gradient | {"trunk": trunk.old + trunk.new} if isinstance(trunk, Blocks) else gradient


def joined(heads: Any) -> Any:
    """Join blocks to one tree of heads.

    The blocks are padded and added, because compilers can fuse these operations into the reader
    of the result, unlike a concatenation.
    """
    if not isinstance(heads, Blocks):
        return heads

    def join(old: Array, new: Array) -> Array:
        others = [(0, 0)] * (old.ndim - 1)
        before, behind = [(old.shape[0], 0), *others], [(0, new.shape[0]), *others]
        return jnp.pad(old, behind) + jnp.pad(new, before)

    return jax.tree.map(join, heads.old, heads.new)


def is_head(path: tuple[Any, ...]) -> bool:
    """Return True if a leaf at `path` has the task axis: it is below a key named "heads"."""
    return any(getattr(key, "key", None) == "heads" for key in path)


def take_heads(tree: Any, heads: Heads) -> Any:
    """Return the tree with only `heads` on the task axis; heads in blocks are those already."""

    def take(path: tuple[Any, ...], leaf: Any) -> Any:
        return take_leaf(leaf, heads) if is_head(path) and not is_blocks(leaf) else leaf

    return jax.tree_util.tree_map_with_path(take, tree, is_leaf=is_blocks)


def are_first(heads: Heads) -> bool:
    """Return True if heads are known to be 0, 1, ..., k - 1, so that one slice contains them."""
    return isinstance(heads, np.ndarray) and np.array_equal(heads, np.arange(len(heads)))


def take_leaf(leaf: Array, heads: Heads) -> Array:
    """Return `heads` of a leaf [task, ...]."""
    if are_first(heads):
        return leaf[: len(heads)]
    return leaf.at[heads].get(mode="promise_in_bounds", unique_indices=True)


def put_heads(leaf: Array, values: Array, heads: Heads) -> Array:
    """Return `leaf` [task, ...] with `heads` replaced by `values`, in place if possible."""
    if are_first(heads):
        if len(heads) == leaf.shape[0]:
            return values
        return jax.lax.dynamic_update_slice_in_dim(leaf, values, 0, 0)
    # One scatter instead of a slice per head: it needs far fewer kernels on a GPU, and on a CPU
    # a chain of slices makes the compiler copy the heads of all tasks.
    return leaf.at[heads].set(values, mode="promise_in_bounds", unique_indices=True)


def map_heads(
    function: Callable[..., tuple[Any, ...]],
    trees: tuple[Any, ...],
    inputs: tuple[Any, ...],
    heads: Heads,
) -> tuple[Any, ...]:
    """Rewrite `heads` of `trees` [task, ...] and leave the other heads unchanged.

    `function` receives blocks [heads, ...] of every tree, then of every input, and returns the
    new blocks of the trees. It is called once for old and once for new heads if these are apart.
    """
    parts, structure = jax.tree.flatten(trees, is_leaf=is_blocks)
    if not any(map(is_blocks, parts)):
        taken = jax.tree.map(lambda leaf: take_leaf(leaf, heads), trees)
        new = function(*taken, *map(joined, inputs))
        return jax.tree.map(lambda leaf, block: put_heads(leaf, block, heads), trees, tuple(new))

    rows = Rows(1, len(heads) - 1, 1)
    blocks = [in_blocks(each, rows) for each in inputs]

    def rewritten(which: int) -> Any:
        taken = jax.tree.unflatten(structure, [part[which] for part in parts])
        return tuple(function(*taken, *(each[which] for each in blocks)))

    return jax.tree.map(
        lambda _, *pair: Blocks(*pair), trees, *map(rewritten, (0, 1)), is_leaf=is_blocks
    )
