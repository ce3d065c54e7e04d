"""Replay buffers on the device: transitions of the current task (D_new) and of old ones (D_old).

A transition is one row of float32 numbers, so appending is one write and sampling one read of
contiguous bytes. Rows of D_old also hold the outputs of policy and critics at the end of their
task: 160 bytes in all with Continual World's 12 observations and 4 actions. D_old is empty for
methods that keep no transitions, and still grows for methods that collect for tasks other than
the current one. The functions here are for one run; the learner adds the run axis.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recall.collect.transition import Columns
from recall.nets.arrays import Array
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Heads, Rows
from recall.replay.batch import Batch, ReplayView, Stored


class Replay(NamedTuple):
    """Replay buffers of one run, or of a fleet if the arrays have a leading run axis."""

    new: Array  # [slot, columns]
    old: Array  # [task, slot, columns + 2 act + 2]: with the policy and both values of the time


def stored_outputs(columns: Columns, old_rows: Array) -> Stored:
    """Return the stored network outputs of rows [batch, columns] of D_old."""
    start, act = columns.width, columns.action_size
    policy = Gaussian(old_rows[:, start : start + act], old_rows[:, start + act : start + 2 * act])
    return Stored(policy, old_rows[:, start + 2 * act :].T)


def init(
    columns: Columns,
    capacity: int,
    tasks_kept: int,
    memory_per_task: int,
    runs: int,
    layout: jax.sharding.Sharding | None = None,
) -> Replay:
    """Return empty buffers of a fleet, sharded over several devices if `layout` is given."""
    new = (runs, capacity, columns.width)
    old = (runs, tasks_kept, memory_per_task, columns.old_width)
    return Replay(*(jnp.zeros(shape, jnp.float32, device=layout) for shape in (new, old)))


def append(replay: Replay, rows: Array, position: Array) -> Replay:
    """Write rows [chunk, columns] at `position`; the caller wraps it around the buffer."""
    return replay._replace(new=jax.lax.dynamic_update_slice(replay.new, rows, (position, 0)))


def append_old(replay: Replay, rows: Array, task: Array, position: Array) -> Replay:
    """Write rows [chunk, columns] of a task other than the current one, without stored outputs."""
    padded = jnp.pad(rows, ((0, 0), (0, replay.old.shape[-1] - rows.shape[-1])))
    start = (task, position, 0)
    return replay._replace(old=jax.lax.dynamic_update_slice(replay.old, padded[None], start))


def archive(
    replay: Replay,
    view: ReplayView,
    networks: Callable[[Array, Array], Stored],
    columns: Columns,
    key: Array,
) -> Replay:
    """Keep a finished task's transitions, or a uniform sample of them, with `networks` outputs.

    The sample is drawn without replacement, so it is distributed like a reservoir sample of all
    transitions of the task that replay holds. If all are kept, they stay in their slots.
    """
    memory = replay.old.shape[1]
    if memory >= replay.new.shape[0]:
        rows = replay.new[: min(memory, replay.new.shape[0])]
        rows = jnp.pad(rows, ((0, memory - rows.shape[0]), (0, 0)))
    else:
        # Empty slots get the lowest priority; the top `memory` slots are a uniform sample.
        priority = jax.random.uniform(key, (replay.new.shape[0],))
        priority = jnp.where(jnp.arange(replay.new.shape[0]) < view.new_size, priority, -1.0)
        rows = replay.new[jax.lax.top_k(priority, memory)[1]]

    def outputs_of(row: Array) -> Array:
        observation, action, *_ = columns.split(row[None])
        policy, q = networks(observation, action)
        return jnp.concatenate([*policy, q.T], axis=-1)[0]

    outputs = jax.lax.map(outputs_of, rows, batch_size=min(memory, 4096))
    kept = jnp.concatenate([rows, outputs], axis=-1)
    return replay._replace(old=replay.old.at[view.task].set(kept))


def _below(limit: Array, bits: Array) -> Array:
    """Map random bits to slots below `limit`.

    With a million slots, the probabilities of slots differ by 0.02 %.
    """
    return (bits % limit.astype(bits.dtype)).astype(jnp.int32)


def sample_new(replay: Replay, view: ReplayView, columns: Columns, bits: Array) -> Batch:
    """Return a batch with one row of the current task for each of the random `bits` [batch]."""
    size = len(bits)
    rows = replay.new[_below(view.new_size, bits)]
    heads = view.task[None]
    return Batch(*columns.split(rows), heads, Rows(size), jnp.ones(size), None)


def tasks_of_turn(view: ReplayView, groups: int, most: int, turn: Array) -> Heads:
    """Return the tasks that take part in the updates of a turn [groups + 1], the current one last.

    With fewer than `most` groups there are as many groups as old tasks, and all take part.
    Otherwise old tasks alternate in round-robin order, so that each takes part equally often.
    """
    if groups < most:
        return np.arange(groups + 1)
    old = (turn * groups + jnp.arange(groups)) % view.task
    return jnp.append(old, view.task)


def sample_balanced(
    replay: Replay,
    view: ReplayView,
    columns: Columns,
    size: int,
    heads: Heads,
    bits: Array,
) -> Batch:
    """Return a batch of `size` rows of the current task, then an equal group per old task.

    The old tasks are those in `heads`. Each of the random `bits` selects one row.
    """
    old_tasks = jnp.asarray(heads[:-1])
    groups = len(old_tasks)
    new = sample_new(replay, view, columns, bits[:size])
    limits = view.old_sizes[old_tasks][:, None]
    slots = _below(limits, bits[size:].reshape(groups, -1))
    group_size = slots.shape[1]
    old = replay.old[old_tasks[:, None], slots].reshape(groups * group_size, -1)
    parts = zip(new[:5], columns.split(old), strict=True)
    observation, action, reward, terminated, following = (jnp.concatenate(pair) for pair in parts)
    stored = stored_outputs(columns, jnp.pad(old, ((size, 0), (0, 0))))
    is_new = jnp.arange(size + old.shape[0]) < size
    rows = Rows(size, groups, group_size)
    return Batch(
        observation,
        action,
        reward,
        terminated,
        following,
        heads,
        rows,
        is_new.astype(jnp.float32),
        stored,
    )


def sample_uniform(replay: Replay, view: ReplayView, columns: Columns, bits: Array) -> Batch:
    """Return a batch with one row of all stored ones, new and old, per random `bits` [batch]."""
    tasks = replay.old.shape[0]
    old_sizes = jnp.where(jnp.arange(tasks) < view.task, view.old_sizes[:tasks], 0)
    ends = view.new_size + jnp.cumsum(old_sizes)
    total = ends[-1] if tasks else view.new_size
    draw = _below(total, bits)
    is_new = draw < view.new_size
    new = replay.new[jnp.where(is_new, draw, 0)]
    head = jnp.where(is_new, view.task, 0)
    rows = new
    stored = None
    if tasks:
        task = jnp.clip(jnp.searchsorted(ends, draw, side="right"), 0, tasks - 1)
        slot = jnp.where(is_new, 0, draw - (ends[task] - old_sizes[task]))
        old = replay.old[task, slot]
        rows = jnp.where(is_new[:, None], new, old[:, : columns.width])
        head = jnp.where(is_new, view.task, task)
        stored = stored_outputs(columns, old)
    heads = np.arange(view.old_sizes.shape[0])
    return Batch(*columns.split(rows), heads, head, is_new.astype(jnp.float32), stored)
