"""The heads of a turn's batches, taken out of the state and put back in one place.

A turn is a number of updates whose batches use the same heads: a whole burst, or a part of it if
there are so many old tasks that they alternate. During a turn the state holds these heads only,
those of old tasks and the current one as arrays of their own, and updates read and write whole
arrays. Cutting the heads out of the arrays [task, ...] of all tasks in every update takes a tenth
of its time on a GPU (docs/performance.md).
"""

from collections.abc import Callable
from typing import Any

import jax

from recall.learn.agent import LearnerState, Trainable
from recall.learn.remedies import begin_turn, end_turn
from recall.nets.arrays import Array
from recall.nets.heads import Heads, joined, put_heads, split_heads, take_heads
from recall.nets.optimiser import Moments

# What grows with the networks. All else has one number for each task.
_LARGE = ("actor", "critic", "target", "actor_moments", "critic_moments", "averaged")


def scan_in_turns(
    step: Callable[[LearnerState, Any, Heads], tuple[LearnerState, Array]],
    state: LearnerState,
    updates: Any,
    heads_of_turn: Callable[[Any], Heads],
    groups: int,
    length: int,
    unroll: int,
) -> tuple[LearnerState, Array]:
    """Return the state after `step` for each of the `updates` [update, ...], and its results.

    `heads_of_turn` returns the heads that all updates share with the first one of their turn. If it
    computes them, turns have `length` updates; if they are constants, there is only one turn.
    """

    def heads_of(updates: Any) -> Heads:
        return heads_of_turn(jax.tree.map(lambda leaf: leaf[0], updates))

    def turn(state: LearnerState, updates: Any) -> tuple[LearnerState, Array]:
        heads = heads_of(updates)
        part, rows = jax.lax.scan(
            lambda part, update: step(part, update, heads),
            take(state, heads, groups),
            updates,
            unroll=unroll,
        )
        return put(state, part, heads), rows

    total = len(jax.tree.leaves(updates)[0])
    if not isinstance(heads_of(updates), Array):
        return turn(state, updates)
    if total % length and length % total:
        raise ValueError(f"a burst of {total} updates does not consist of turns of {length}")
    if total <= length:
        return turn(state, updates)
    turns = jax.tree.map(lambda leaf: leaf.reshape(-1, length, *leaf.shape[1:]), updates)
    state, rows = jax.lax.scan(turn, state, turns)
    return state, rows.reshape(total, *rows.shape[2:])


def take(state: LearnerState, heads: Heads, groups: int) -> LearnerState:
    """Return the state with only `heads`; if old tasks have rows of their own, theirs are apart."""
    old, part = len(heads) - 1 if groups else 0, take_heads(state.trainable, heads)
    apart = {
        name: _on_heads(lambda heads: split_heads(heads, old), getattr(part, name))
        for name in _LARGE
    }
    part = part._replace(**apart)
    return state._replace(trainable=part, remedy=begin_turn(state.remedy, part))


def put(whole: LearnerState, part: LearnerState, heads: Heads) -> LearnerState:
    """Return the state `part` with the heads of `whole` that are not among `heads`."""
    together = {name: _on_heads(joined, getattr(part.trainable, name)) for name in _LARGE}
    trainable: Trainable = put_heads(whole.trainable, part.trainable._replace(**together), heads)
    return part._replace(trainable=trainable, remedy=end_turn(part.remedy))


def _on_heads(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to the heads of a network or of its moments."""
    if isinstance(tree, Moments):
        return Moments(*(_on_heads(function, each) for each in tree))
    if tree is None:  # the method keeps no average of the actor
        return None
    return tree | {"heads": function(tree["heads"])}
