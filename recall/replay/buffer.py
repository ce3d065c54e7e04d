"""Replay on the device: the current task's transitions (D_new) and the kept ones (D_old).

A transition is one row of float32 numbers, so that appending is one write and sampling one read
of contiguous bytes. Rows of D_old also hold what policy and critics said at the end of their task:
160 bytes with Continual World's 12 observations and 4 actions. D_old holds nothing for methods
that keep nothing, and goes on being filled for those that collect for other tasks than the
current one. Functions here are for one run; the learner adds the run axis.
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
    """The buffers of one run; with the run axis in front, of a fleet."""

    new: Array  # [slot, columns]
    old: Array  # [task, slot, columns + 2 act]


def stored_outputs(columns: Columns, old_rows: Array) -> Stored:
    """What rows [batch, columns] of D_old hold of the networks of their time."""
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
    """Empty buffers of a fleet, laid out over several devices where that is said."""
    new = (runs, capacity, columns.width)
    old = (runs, tasks_kept, memory_per_task, columns.old_width)
    return Replay(*(jnp.zeros(shape, jnp.float32, device=layout) for shape in (new, old)))


def append(replay: Replay, rows: Array, position: Array) -> Replay:
    """Write rows [chunk, columns] at `position`, which the caller counts round the buffer."""
    return replay._replace(new=jax.lax.dynamic_update_slice(replay.new, rows, (position, 0)))


def append_old(replay: Replay, rows: Array, task: Array, position: Array) -> Replay:
    """Write rows [chunk, columns] of another task than the current one, without a policy."""
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
    """End of a task: keep its transitions, or a uniform sample of them, with `networks` outputs.

    Which transitions stay is drawn without replacement, so the kept ones are what a reservoir
    over all that replay holds of the task would hold. Those that are all kept stay in their slots.
    """
    memory = replay.old.shape[1]
    if memory >= replay.new.shape[0]:
        rows = replay.new[: min(memory, replay.new.shape[0])]
        rows = jnp.pad(rows, ((0, memory - rows.shape[0]), (0, 0)))
    else:
        # Slots beyond the fill get the lowest priority; the top `memory` are a uniform sample.
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
    """Random bits as slots below `limit`. A million slots differ by 0.02 % in how often."""
    return (bits % limit.astype(bits.dtype)).astype(jnp.int32)


def sample_new(replay: Replay, view: ReplayView, columns: Columns, bits: Array) -> Batch:
    """A row of the current task for each of the random `bits` [batch]."""
    size = len(bits)
    rows = replay.new[_below(view.new_size, bits)]
    heads = view.task[None]
    return Batch(*columns.split(rows), heads, Rows(size), jnp.ones(size), None)


def heads_of_update(view: ReplayView, groups: int, most: int, number: Array) -> Heads:
    """[groups + 1] the tasks that take part in an update, the current one last.

    With fewer than `most` groups there are just as many old tasks, and all take part. Beyond,
    they take turns, round robin, so that each comes up equally often.
    """
    if groups < most:
        return np.arange(groups + 1)
    old = (number * groups + jnp.arange(groups)) % view.task
    return jnp.append(old, view.task)


def sample_balanced(
    replay: Replay,
    view: ReplayView,
    columns: Columns,
    size: int,
    heads: Heads,
    bits: Array,
) -> Batch:
    """`size` rows of the current task, then as many of each old task in `heads`, one per bits."""
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
    """A row of all that is stored, current and old, for each of the random `bits` [batch]."""
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
