"""Trees with a task axis: some tasks' heads taken out, put back, the others left alone.

A leaf has the task axis in front if it stands below a key named "heads". Everything here is for
trees of such leaves, whatever network or statistics they belong to.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
Heads = Array | np.ndarray  # [k]; in NumPy where they are known beforehand


class Rows(NamedTuple):
    """How the rows of a batch fall to the heads it uses. Static: each head multiplies one block.

    The first `new` rows belong to the last head, the current task's; then come `groups` groups of
    `group_size` rows, group i of head i.
    """

    new: int
    groups: int = 0
    group_size: int = 0

    @property
    def total(self) -> int:
        """All rows."""
        return self.new + self.groups * self.group_size

    def head_of_row(self) -> Array:
        """[total] the head of every row."""
        groups = np.arange(self.groups).repeat(self.group_size)
        return jnp.asarray(np.concatenate([np.full(self.new, self.groups), groups]))


def head_of(heads: Any, task: Array | int) -> Any:
    """One task's layers out of those of all, or those of several."""
    return jax.tree.map(lambda leaf: leaf[task], heads)


class Blocks(NamedTuple):
    """The heads of one batch as its rows use them: those of its groups, and the current one."""

    old: Any
    new: Any


def in_blocks(heads: Any, rows: Rows | Array) -> Any:
    """Heads as `Blocks` where rows come in groups.

    Taken apart before they are differentiated, heads have their gradients in blocks too, and
    these need not be put together to be measured.
    """
    if isinstance(heads, Blocks) or not isinstance(rows, Rows) or not rows.groups:
        return heads
    old = jax.tree.map(lambda leaf: leaf[: rows.groups], heads)
    new = jax.tree.map(lambda leaf: leaf[rows.groups :], heads)
    return Blocks(old, new)


def twice_trunk(trunk: Any, rows: Rows | Array) -> Any:
    """The shared layers for old and for new rows, where rows come in groups.

    Differentiated as two, they have the gradients of old and of new rows apart.
    """
    return Blocks(trunk, trunk) if isinstance(rows, Rows) and rows.groups else trunk


def one_trunk(params: Any) -> Any:
    """A network whose rows all go through one trunk, for passes that are not differentiated."""
    trunk = params["trunk"]
    return params | {"trunk": trunk.new} if isinstance(trunk, Blocks) else params


def summed_trunk(gradient: Any) -> Any:
    """The gradient of a network's trunk over all rows."""
    trunk = gradient["trunk"]
    return gradient | {"trunk": trunk.old + trunk.new} if isinstance(trunk, Blocks) else gradient


def joined(heads: Any) -> Any:
    """Blocks as one tree of heads again.

    Padded and added: compilers let these happen where the result is read, a concatenation not.
    """
    if not isinstance(heads, Blocks):
        return heads

    def join(old: Array, new: Array) -> Array:
        others = [(0, 0)] * (old.ndim - 1)
        before, behind = [(old.shape[0], 0), *others], [(0, new.shape[0]), *others]
        return jnp.pad(old, behind) + jnp.pad(new, before)

    return jax.tree.map(join, heads.old, heads.new)


def is_head(path: tuple[Any, ...]) -> bool:
    """Whether a leaf at `path` has the task axis: it stands below a key named "heads"."""
    return any(getattr(key, "key", None) == "heads" for key in path)


def take_heads(tree: Any, heads: Heads) -> Any:
    """The tree with only `heads` on the task axis."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: _take(leaf, heads) if is_head(path) else leaf, tree
    )


def _are_first(heads: Heads) -> bool:
    """Whether they are known to be 0, 1, ..., k - 1: one slice then has them all."""
    return isinstance(heads, np.ndarray) and np.array_equal(heads, np.arange(len(heads)))


def _take(leaf: Array, heads: Heads) -> Array:
    if _are_first(heads):
        return leaf[: len(heads)]
    return leaf.at[heads].get(mode="promise_in_bounds", unique_indices=True)


def put_heads(leaf: Array, values: Array, heads: Heads) -> Array:
    """`leaf` [task, ...] with `values` in place of `heads`, written in place if possible."""
    if _are_first(heads):
        if len(heads) == leaf.shape[0]:
            return values
        return jax.lax.dynamic_update_slice_in_dim(leaf, values, 0, 0)
    # One scatter, not a slice per head: many times fewer kernels on a GPU, and on a CPU a chain
    # of slices makes the compiler copy the heads of all tasks.
    return leaf.at[heads].set(values, mode="promise_in_bounds", unique_indices=True)


def map_heads(
    function: Callable[..., tuple[Any, ...]],
    trees: tuple[Any, ...],
    inputs: tuple[Any, ...],
    heads: Heads,
) -> tuple[Any, ...]:
    """Rewrite `heads` of `trees` [task, ...] and leave the others alone.

    `function` gets blocks [heads, ...] of every tree, then of every input, and returns the
    trees' new blocks.
    """
    blocks = jax.tree.map(lambda leaf: _take(leaf, heads), trees)
    new = function(*blocks, *inputs)
    return jax.tree.map(lambda leaf, block: put_heads(leaf, block, heads), trees, tuple(new))
