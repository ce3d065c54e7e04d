"""The heads of a turn's batches, taken apart once for all of its updates.

A turn is a number of updates whose batches use the same heads: a whole burst, or a part of it if
there are so many old tasks that they alternate. During a turn the networks hold these heads only,
those of old tasks and the current one as arrays of their own, and updates read and write whole
arrays. Cutting the heads out of the arrays [task, ...] of all tasks in every update takes a tenth
of its time on a GPU (docs/performance-trials.md).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from recall.learn.method import Method
from recall.learn.state import LearnerState, Trainable
from recall.nets.adam import Moments
from recall.nets.arrays import Array
from recall.nets.heads import Blocks, Heads, Rows, are_first, in_blocks, put_heads, take_leaf
from recall.replay.batch import Batch

# What grows with the networks. All else has one number for each task.
_SPLIT = ("actor", "critic", "target", "actor_moments", "critic_moments", "averaged")


def scan_in_turns(
    step: Callable[[LearnerState, Any], tuple[LearnerState, Array]],
    state: LearnerState,
    updates: Any,
    heads_of_turn: Callable[..., Heads | None],
    length: int,
    unroll: int,
) -> tuple[LearnerState, Array]:
    """Return the state after `step` for each of the `updates` [update, ...], and its results.

    `heads_of_turn` returns the heads that all updates share with the first one of their turn. If it
    computes them, turns have `length` updates; if they are constants, there is only one turn. If it
    returns None, heads may vary from update to update, and nothing is taken apart.
    """

    def first(updates: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[0], updates)

    def turn(state: LearnerState, updates: Any) -> tuple[LearnerState, Array]:
        heads, whole = heads_of_turn(*first(updates)), state.trainable
        state = state._replace(trainable=take_apart(whole, heads))
        state, rows = jax.lax.scan(step, state, updates, unroll=unroll)
        return state._replace(trainable=put_together(whole, state.trainable, heads)), rows

    total = len(jax.tree.leaves(updates)[0])
    if not isinstance(heads_of_turn(*first(updates)), Array):
        return turn(state, updates)
    if total % length and length % total:
        raise ValueError(f"a burst of {total} updates does not consist of turns of {length}")
    if total <= length:
        return turn(state, updates)
    turns = jax.tree.map(lambda leaf: leaf.reshape(-1, length, *leaf.shape[1:]), updates)
    state, rows = jax.lax.scan(turn, state, turns)
    return state, rows.reshape(total, *rows.shape[2:])


def shared_heads(method: Method, batch: Batch) -> Heads | None:
    """Return the heads of every batch in the turn of `batch`; None if they may vary.

    They are known to stay the same if they are the constants 0, 1, ..., or chosen by the package's
    own sampling.
    """
    if not isinstance(batch.rows, Rows) or not batch.rows.groups:
        return None
    constant, own = are_first(batch.heads), type(method).sample is Method.sample
    return batch.heads if constant or own else None


def take_apart(trainable: Trainable, heads: Heads | None) -> Trainable:
    """Return only `heads` of all networks and moments, in blocks; with None everything."""
    if heads is None:
        return trainable
    rows = Rows(1, len(heads) - 1, 1)

    def take(every: Any) -> Any:
        return in_blocks(jax.tree.map(lambda leaf: take_leaf(leaf, heads), every), rows)

    return _map_heads(take, trainable)


def put_together(whole: Trainable, apart: Trainable, heads: Heads | None) -> Trainable:
    """Return what was taken apart, with the heads of `whole` that were not among `heads`."""
    if heads is None:
        return apart

    def put(blocks: Blocks, every: Any) -> Any:
        def join(old: Any, new: Any, leaf: Any) -> Any:
            return put_heads(leaf, jnp.concatenate([old, new]), heads)

        return jax.tree.map(join, *blocks, every)

    return _map_heads(put, apart, whole)


def _map_heads(function: Callable[..., Any], *trainables: Trainable) -> Trainable:
    """Apply a function to the heads of all networks and moments; leave the rest of the first."""
    parts = {
        name: _below(function, *(getattr(each, name) for each in trainables)) for name in _SPLIT
    }
    return trainables[0]._replace(**parts)


def _below(function: Callable[..., Any], *parts: Any) -> Any:
    """Apply a function to the heads of networks, or of moments; leave the rest of the first."""
    first = parts[0]
    if isinstance(first, Moments):
        return Moments(*(_below(function, *each) for each in zip(*parts, strict=True)))
    if first is None:  # the method keeps no average of the actor
        return None
    return first | {"heads": function(*(part["heads"] for part in parts))}
