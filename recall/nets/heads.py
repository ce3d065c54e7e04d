"""Heads: leaves with a task axis, which lie below a key named "heads" in any tree.

An update takes the heads of its batch out of the arrays of all tasks, [task, ...] to [heads, ...],
and puts them back (`take_heads`, `put_heads`). Where old tasks have rows of their own, the heads of
old tasks and that of the current one are kept apart as `OldAndNew` meanwhile, and so are the
gradients of the shared layers, so that each can be clipped by itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recall.nets.arrays import Array

Heads = Array | np.ndarray  # [heads] tasks; a NumPy array if they are known at compile time


class OldAndNew(NamedTuple):
    """Heads of old tasks [groups, ...] and of the current one [1, ...], or a copy for each."""

    old: Any
    new: Any


class BatchLayout(NamedTuple):
    """Static assignment of a batch's rows to heads, so that each head multiplies one block.

    The first `new` rows belong to the last head, that of the current task. They are followed by
    `groups` groups of `group_size` rows, where group i belongs to head i.
    """

    new: int
    groups: int = 0
    group_size: int = 0

    @property
    def head_of_row(self) -> Array:
        """Return the head of every row, [batch]."""
        groups = np.arange(self.groups).repeat(self.group_size)
        return jnp.asarray(np.concatenate([np.full(self.new, self.groups), groups]))

    @property
    def current(self) -> "BatchLayout | None":
        """Return the layout of the current task's rows alone, or None if there are no others."""
        return BatchLayout(self.new) if self.groups else None

    def presence(self, new: Array, heads: int) -> tuple[Heads, Heads]:
        """Return which heads [heads] have rows, and which have `new` rows: the last one."""
        return np.ones(heads, bool), np.arange(heads) == heads - 1

    def apply_trunk(self, one: Callable[..., Array], trunk: Any, x: Array) -> Array:
        """Apply the shared layers to x [batch, inputs], each row with its copy of `trunk`."""
        if not isinstance(trunk, OldAndNew):
            return one(trunk, x)
        return jnp.concatenate([one(trunk.new, x[: self.new]), one(trunk.old, x[self.new :])])

    def apply_heads(self, one: Callable[..., Array], heads: Any, features: Array) -> Array:
        """Apply heads to features [..., batch, width], each to its rows; `one` applies one head."""
        if not self.groups:
            return one(head_of(heads, 0), features)
        heads = split_heads(heads, self.groups)
        new = one(head_of(heads.new, 0), features[..., : self.new, :])
        shape = (*features.shape[:-2], self.groups, self.group_size, features.shape[-1])
        grouped = jnp.moveaxis(features[..., self.new :, :].reshape(shape), -3, 0)
        old = jnp.moveaxis(jax.vmap(one)(heads.old, grouped), 0, -3)
        return jnp.concatenate([new, old.reshape(*new.shape[:-2], -1, new.shape[-1])], axis=-2)


class RowHeads(NamedTuple):
    """Assignment of a batch's rows to heads in any order.

    Every head is applied to every row, and each row keeps one result, which is cheap for linear
    heads and exact for all.
    """

    head_of_row: Array  # [batch]

    @property
    def current(self) -> None:
        """Return None: which rows belong to the current task is not known at compile time."""

    def presence(self, new: Array, heads: int) -> tuple[Heads, Heads]:
        """Return which heads [heads] have rows, and which have `new` rows."""
        of_row = jax.nn.one_hot(self.head_of_row, heads, dtype=bool)
        return jnp.any(of_row, axis=0), jnp.any(of_row & (new > 0)[:, None], axis=0)

    def apply_trunk(self, one: Callable[..., Array], trunk: Any, x: Array) -> Array:
        """Apply the shared layers to x [batch, inputs]."""
        return one(trunk.new if isinstance(trunk, OldAndNew) else trunk, x)

    def apply_heads(self, one: Callable[..., Array], heads: Any, features: Array) -> Array:
        """Apply heads to features [..., batch, width]; `one` applies one head."""
        # [heads, ..., batch, outputs]
        every = jax.vmap(one, in_axes=(0, None))(joined(heads), features)
        mine = self.head_of_row.reshape(*(1,) * (every.ndim - 2), -1, 1)
        return jnp.take_along_axis(every, mine, axis=0)[0]


Layout = BatchLayout | RowHeads


def is_head(path: tuple[Any, ...]) -> bool:
    """Return True if a leaf at `path` has the task axis: it is below a key named "heads"."""
    return any(getattr(key, "key", None) == "heads" for key in path)


def head_of(heads: Any, task: Array | int | slice) -> Any:
    """Return the layers of one task's head, or of several."""
    return jax.tree.map(lambda leaf: leaf[task], heads)


def are_first(heads: Heads) -> bool:
    """Return True if heads are known to be 0, 1, ..., k - 1, so that one slice contains them."""
    return isinstance(heads, np.ndarray) and np.array_equal(heads, np.arange(len(heads)))


def take_heads(tree: Any, heads: Heads) -> Any:
    """Return the tree with only `heads` on the task axis."""

    def take(path: tuple[Any, ...], leaf: Array) -> Array:
        if not is_head(path):
            return leaf
        if are_first(heads):
            return leaf[: len(heads)]
        return leaf.at[heads].get(mode="promise_in_bounds", unique_indices=True)

    return jax.tree_util.tree_map_with_path(take, tree)


def put_heads(whole: Any, part: Any, heads: Heads) -> Any:
    """Return `part` with the heads of `whole` that are not among `heads`; inverse of `take_heads`.

    Heads are replaced in place if possible.
    """

    def put(path: tuple[Any, ...], leaf: Array, values: Array) -> Array:
        return put_leaf(leaf, values, heads) if is_head(path) else values

    return jax.tree_util.tree_map_with_path(put, whole, part)


def put_leaf(leaf: Array, values: Array, heads: Heads) -> Array:
    """Return a leaf [task, ...] with `heads` replaced by `values` [heads, ...]."""
    if are_first(heads):
        if len(heads) == leaf.shape[0]:
            return values
        return jax.lax.dynamic_update_slice_in_dim(leaf, values, 0, 0)
    # One scatter instead of a slice per head: it needs far fewer kernels on a GPU, and on a CPU
    # a chain of slices makes the compiler copy the heads of all tasks.
    return leaf.at[heads].set(values, mode="promise_in_bounds", unique_indices=True)


def split_heads(heads: Any, groups: int) -> Any:
    """Return heads [groups + 1, ...] as `OldAndNew`, unless they are so already or have no groups.

    If heads are split before differentiation, their gradients come apart too.
    """
    if isinstance(heads, OldAndNew) or not groups:
        return heads
    return OldAndNew(head_of(heads, slice(groups)), head_of(heads, slice(groups, None)))


def joined(heads: Any) -> Any:
    """Return heads that may be `OldAndNew` as one tree [heads, ...]."""
    if not isinstance(heads, OldAndNew):
        return heads
    return jax.tree.map(lambda old, new: jnp.concatenate([old, new]), *heads)


def by_part(function: Callable[..., Any], *heads: Any) -> Any:
    """Apply a function to trees of heads: to old and new ones separately if any tree is apart."""
    apart = [tree for tree in heads if isinstance(tree, OldAndNew)]
    if not apart:
        return function(*heads)
    groups = len(jax.tree.leaves(apart[0].old)[0])
    old, new = zip(*(split_heads(tree, groups) for tree in heads), strict=True)
    return OldAndNew(function(*old), function(*new))


def keep_absent(present: Heads, new: Any, old: Any) -> Any:
    """Return the tree `new`, but with the heads of `old` where `present` [heads] is False."""
    if isinstance(present, np.ndarray) and present.all():
        return new

    def choose(path: tuple[Any, ...], after: Array, before: Array) -> Array:
        if not is_head(path):
            return after
        mine = present
        for key in path:  # heads of old tasks and of the current one may be apart
            if (side := getattr(key, "name", None)) in OldAndNew._fields:
                mine = present[:-1] if side == "old" else present[-1:]
        return jnp.where(mine.reshape(-1, *(1,) * (after.ndim - 1)), after, before)

    return jax.tree_util.tree_map_with_path(choose, new, old)


def trunk_for_each(params: Any) -> Any:
    """Return a network with a copy of the trunk for old and for new rows if its heads are apart.

    Differentiating the two copies gives separate gradients.
    """
    if not isinstance(params["heads"], OldAndNew):
        return params
    return params | {"trunk": OldAndNew(params["trunk"], params["trunk"])}


def one_trunk(params: Any) -> Any:
    """Return a network with one trunk for all rows."""
    trunk = params["trunk"]
    return params | {"trunk": trunk.new} if isinstance(trunk, OldAndNew) else params


def new_head(params: Any) -> Any:
    """Return a network with the last head alone, that of the current task."""
    heads = params["heads"]
    last = heads.new if isinstance(heads, OldAndNew) else head_of(heads, slice(-1, None))
    return one_trunk(params) | {"heads": last}
