"""Replay buffers on the device: transitions of the current task (D_new) and of old ones (D_old).

A transition is one row of float32 numbers, so appending is one write and sampling one read of
contiguous bytes. Rows of D_old also hold the outputs of policy and critics at the end of their
task: 172 bytes in all with Continual World's 12 observations and 4 actions. D_old is empty for
methods that keep no transitions, and still grows for methods that collect for tasks other than
the current one. If it keeps a task whole, its rows form a ring like those of D_new, and targets
read the rows that follow. If it keeps a sample, every row holds its n-step return instead. The
functions here are for one run; the learner adds the run axis.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recall.collect.transition import Columns
from recall.nets.arrays import Array
from recall.nets.gaussian import Gaussian
from recall.nets.heads import BatchLayout, Heads, RowHeads
from recall.replay.batch import Batch, ReplayView, Stored
from recall.replay.n_step import Future, NStep, future, windows


class Replay(NamedTuple):
    """Replay buffers of one run, or of a fleet if the arrays have a leading run axis."""

    new: Array  # [slot, columns]
    old: Array  # [task, slot, old columns]: with policy and values at the end of the task

    @property
    def keeps_rings(self) -> bool:
        """Return True if D_old has all rows of its tasks in order, False if a sample of them."""
        return self.old.shape[-2] >= self.new.shape[-2]


def stored_outputs(columns: Columns, old_rows: Array) -> Stored:
    """Return the stored network outputs of rows [batch, columns] of D_old."""
    start, act = columns.width, columns.action_size
    policy = Gaussian(old_rows[:, start : start + act], old_rows[:, start + act : start + 2 * act])
    return Stored(policy, old_rows[:, start + 2 * act : start + 2 * act + 2].T)


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
    n_step: NStep,
    key: Array,
) -> Replay:
    """Keep a finished task's transitions, or a uniform sample of them, with `networks` outputs.

    The sample is drawn without replacement, so it is distributed like a reservoir sample of all
    transitions of the task that replay holds. If all are kept, they stay in their slots.
    """
    memory = replay.old.shape[1]
    if replay.keeps_rings:
        rows = replay.new[: min(memory, replay.new.shape[0])]
        rows = jnp.pad(rows, ((0, memory - rows.shape[0]), (0, 0)))
        numbers = jnp.zeros((memory, 2))
    else:
        # Empty slots get the lowest priority; the top `memory` slots are a uniform sample.
        priority = jax.random.uniform(key, (replay.new.shape[0],))
        priority = jnp.where(jnp.arange(replay.new.shape[0]) < view.new_size, priority, -1.0)
        slot = jax.lax.top_k(priority, memory)[1]
        later = _future_of_new(replay, view, columns, n_step, slot)
        # The rows that follow are not kept, so each row keeps what its target takes from them.
        start = columns.width - columns.observation_size
        rows = replay.new[slot].at[:, start:].set(later.next_observation)
        numbers = jnp.stack([later.returns, later.discount], axis=1)

    def outputs_of(row: Array) -> Array:
        observation, action, *_ = columns.split(row[None])
        policy, q = networks(observation, action)
        return jnp.concatenate([*policy, q.T], axis=-1)[0]

    outputs = jax.lax.map(outputs_of, rows, batch_size=min(memory, 4096))
    kept = jnp.concatenate([rows, outputs, numbers], axis=-1)
    return replay._replace(old=replay.old.at[view.task].set(kept))


def _future_of_new(
    replay: Replay, view: ReplayView, columns: Columns, n_step: NStep, slot: Array
) -> Future:
    """Return what targets take from the steps after the rows [batch] of D_new."""
    capacity = replay.new.shape[0]
    end = view.collected[view.task] % capacity
    slots = windows(slot, end, view.stride, capacity, n_step.steps)
    return future(columns, replay.new[slots], slots >= 0, n_step)


def _future_of_old(
    replay: Replay, view: ReplayView, columns: Columns, n_step: NStep, task: Array, slot: Array
) -> Future:
    """Return what targets take from the steps after the rows [batch] of D_old."""
    if not replay.keeps_rings:
        rows = replay.old[task, slot]
        next_observation = columns.split(rows)[-1]
        return Future(rows[:, -2], rows[:, -1], next_observation)
    capacity = replay.new.shape[0]
    slots = windows(slot, view.collected[task] % capacity, view.stride, capacity, n_step.steps)
    return future(columns, replay.old[task[:, None], slots], slots >= 0, n_step)


def _below(limit: Array, bits: Array) -> Array:
    """Map random bits to slots below `limit`.

    With a million slots, the probabilities of slots differ by 0.02 %.
    """
    return (bits % limit.astype(bits.dtype)).astype(jnp.int32)


def sample_new(
    replay: Replay, view: ReplayView, columns: Columns, n_step: NStep, bits: Array
) -> Batch:
    """Return a batch with one row of the current task for each of the random `bits` [batch]."""
    size, slot = len(bits), _below(view.new_size, bits)
    observation, action, reward, *_ = columns.split(replay.new[slot])
    later = _future_of_new(replay, view, columns, n_step, slot)
    heads = view.task[None]
    return Batch(observation, action, reward, later, heads, BatchLayout(size), jnp.ones(size), None)


def tasks_of_turn(view: ReplayView, groups: int, most: int, turn: Array) -> Heads:
    """Return the tasks that take part in the updates of a turn [groups + 1], the current one last.

    With fewer than `most` groups there are as many groups as old tasks, and all take part.
    Otherwise old tasks alternate in round-robin order, so that each takes part equally often.
    """
    if not groups:
        return view.task[None]
    if groups < most:
        return np.arange(groups + 1)
    old = (turn * groups + jnp.arange(groups)) % view.task
    return jnp.append(old, view.task)


def sample_balanced(
    replay: Replay,
    view: ReplayView,
    columns: Columns,
    n_step: NStep,
    size: int,
    heads: Heads,
    bits: Array,
) -> Batch:
    """Return a batch of `size` rows of the current task, then an equal group per old task.

    The old tasks are those in `heads`. Each of the random `bits` selects one row.
    """
    old_tasks = jnp.asarray(heads[:-1])
    groups = len(old_tasks)
    new = sample_new(replay, view, columns, n_step, bits[:size])
    limits = view.old_sizes[old_tasks][:, None]
    slots = _below(limits, bits[size:].reshape(groups, -1))
    group_size = slots.shape[1]
    task, slot = old_tasks.repeat(group_size), slots.ravel()
    old = replay.old[task, slot]
    observation, action, reward, *_ = columns.split(old)
    later = _future_of_old(replay, view, columns, n_step, task, slot)
    stored = stored_outputs(columns, jnp.pad(old, ((size, 0), (0, 0))))
    is_new = jnp.arange(size + old.shape[0]) < size
    return Batch(
        jnp.concatenate([new.observation, observation]),
        jnp.concatenate([new.action, action]),
        jnp.concatenate([new.reward, reward]),
        Future(*map(jnp.concatenate, zip(new.future, later, strict=True))),
        heads,
        BatchLayout(size, groups, group_size),
        is_new.astype(jnp.float32),
        stored,
    )


def sample_uniform(
    replay: Replay, view: ReplayView, columns: Columns, n_step: NStep, bits: Array
) -> Batch:
    """Return a batch with one row of all stored ones, new and old, per random `bits` [batch]."""
    tasks = replay.old.shape[0]
    old_sizes = jnp.where(jnp.arange(tasks) < view.task, view.old_sizes[:tasks], 0)
    ends = view.new_size + jnp.cumsum(old_sizes)
    total = ends[-1] if tasks else view.new_size
    draw = _below(total, bits)
    is_new = draw < view.new_size
    slot = jnp.where(is_new, draw, 0)
    rows, later = replay.new[slot], _future_of_new(replay, view, columns, n_step, slot)
    head = jnp.where(is_new, view.task, 0)
    stored = None
    if tasks:
        task = jnp.clip(jnp.searchsorted(ends, draw, side="right"), 0, tasks - 1)
        slot = jnp.where(is_new, 0, draw - (ends[task] - old_sizes[task]))
        old = replay.old[task, slot]
        of_old = _future_of_old(replay, view, columns, n_step, task, slot)

        def choose(new: Array, old: Array) -> Array:
            return jnp.where(is_new.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

        rows = choose(rows, old[:, : columns.width])
        later = Future(*map(choose, later, of_old))
        head = jnp.where(is_new, view.task, task)
        stored = stored_outputs(columns, old)
    heads = np.arange(view.old_sizes.shape[0])
    observation, action, reward, *_ = columns.split(rows)
    new = is_new.astype(jnp.float32)
    return Batch(observation, action, reward, later, heads, RowHeads(head), new, stored)
