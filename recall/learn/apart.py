"""The heads of a burst's batches, taken apart once for all of its updates.

If every batch of a burst uses the same heads, those of all tasks so far, the networks' arrays
[task, ...] are split into the heads of old tasks, the current one, and the rest, which no batch
uses. Updates then read and write whole arrays. Cutting the heads out of larger arrays in every
update takes a tenth of its time on a GPU (docs/performance.md).

If old heads take turns, only the current one is taken apart, and only on a CPU: there the others
are rewritten one by one in place (recall.nets.turns). A GPU gathers and scatters them together,
which needs fewer kernels.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn.method import Method
from recall.learn.state import Trainable
from recall.nets import turns
from recall.nets.adam import Moments
from recall.nets.arrays import Array
from recall.nets.heads import Blocks, Rows, Turns, are_first, head_of, in_blocks
from recall.replay.batch import Batch

# What grows with the networks. All else has one number for each task.
_SPLIT = ("actor", "critic", "target", "actor_moments", "critic_moments", "averaged")


class Apart(NamedTuple):
    """Heads in blocks as the batches use them, and the heads that they do not use."""

    trainable: Trainable
    unused: Trainable | None  # None if the batches may use all heads


def apart_for_burst(
    method: Method, trainable: Trainable, groups: int, task: Array, sample: Callable[[], Batch]
) -> Apart:
    """Take the heads apart for a burst of the task at position `task`, with batches like `sample`.

    `groups` is the number of old tasks in a batch.
    """
    if take_turns(method, groups):
        return take_current_apart(trainable, task)
    return take_apart(trainable, groups_apart(sample))


def groups_apart(sample: Callable[[], Batch]) -> int:
    """Return the number of old heads in every batch; 0 if they vary from batch to batch."""
    found: list[int] = []

    def look() -> None:
        batch = sample()
        found.append(
            batch.rows.groups if are_first(batch.heads) and isinstance(batch.rows, Rows) else 0
        )

    jax.eval_shape(look)
    return found[0]


def take_apart(trainable: Trainable, groups: int) -> Apart:
    """Split the heads into those of `groups` old tasks, the one after them, and the rest."""
    if not groups:
        return Apart(trainable, None)
    rows = Rows(1, groups, 1)

    def used(heads: Any) -> Any:
        return in_blocks(head_of(heads, slice(groups + 1)), rows)

    def unused(heads: Any) -> Any:
        return head_of(heads, slice(groups + 1, None))

    return Apart(_map_heads(used, trainable), _map_heads(unused, trainable))


def take_turns(method: Method, groups: int) -> bool:
    """Return True if old heads take turns and are rewritten one by one.

    The current head must be the same in every batch, which is known of the package's own sampling
    alone.
    """
    chosen_here = type(method).sample is Method.sample and method.sampling == "balanced"
    return chosen_here and groups == method.max_old_tasks and jax.default_backend() == "cpu"


def take_current_apart(trainable: Trainable, task: Array) -> Apart:
    """Split off the heads of `task`, the current one, from all others."""
    return Apart(_map_heads(lambda heads: turns.current_apart(heads, task), trainable), None)


def put_together(apart: Apart, task: Array) -> Trainable:
    """Return what was taken apart, in a burst of the task at position `task`."""
    if isinstance(apart.trainable.critic["heads"], Turns):
        return _map_heads(lambda heads: turns.current_back(heads, task), apart.trainable)
    if apart.unused is None:
        return apart.trainable

    def join(blocks: Blocks, unused: Any) -> Any:
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *blocks, unused)

    return _map_heads(join, apart.trainable, apart.unused)


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
