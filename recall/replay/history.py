"""Transitions of a fleet: replay on the device, and the log on disk that can restore it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from recall.collect.pool import Ended
from recall.collect.task_schedule import TaskSchedule
from recall.collect.transition import Columns
from recall.files.stamps import Stamp, Stamps
from recall.nets.sharding import over_devices, shard, to_int32
from recall.replay import buffer
from recall.replay.batch import ReplayView
from recall.replay.buffer import Replay
from recall.replay.log import TransitionLog

Array = np.ndarray


def rows_held(capacity: int, steps_per_task: int, memory_per_task: int | None) -> tuple[int, int]:
    """Return how many transitions a run holds of the current task, and of each old task.

    It never holds more than the `capacity` of replay or than a task has steps. `memory_per_task` of
    them are kept after a task: None keeps all, 0 keeps none.
    """
    current = min(capacity, steps_per_task)
    return current, current if memory_per_task is None else min(memory_per_task, current)


@partial(jax.jit, donate_argnames=("replay",))
def append(replay: Replay, rows: jax.Array, position: jax.Array) -> Replay:
    """Write each run's chunk, rows [run, chunk, columns], at `position`."""
    return replay._replace(new=jax.lax.dynamic_update_slice(replay.new, rows, (0, position, 0)))


@partial(jax.jit, donate_argnames=("replay",))
def append_old(replay: Replay, rows: jax.Array, task: jax.Array, position: jax.Array) -> Replay:
    """Write each run's chunk of a task other than the current one, at `position` of its ring."""
    return jax.vmap(buffer.append_old, in_axes=(0, 0, None, None))(replay, rows, task, position)


@partial(jax.jit, donate_argnames=("replay",))
def set_aside(replay: Replay, task: jax.Array) -> Replay:
    """Copy D_new, slot by slot, to the ring of `task` in D_old, to which more will be appended."""
    return jax.vmap(lambda one: buffer.append_old(one, one.new, task, jnp.asarray(0)))(replay)


class History:
    """D_new and D_old of every run, on the device and on disk."""

    def __init__(
        self,
        task_schedule: TaskSchedule,
        columns: Columns,
        runs: int,
        capacity: int,
        memory_per_task: int | None,
        folder: Path,
        environments: int = 1,
        keep_log: bool = False,
    ):
        """Create buffers for at most `capacity` transitions of the task in training.

        After the task, `memory_per_task` of them are kept: None keeps all, 0 keeps none. The
        rows of a run's `environments` alternate in a chunk. `keep_log` leaves all transitions on
        disk when the fleet is done.
        """
        self._task_schedule, self._environments = task_schedule, environments
        self.capacity, self._memory = rows_held(
            capacity, task_schedule.steps_per_task, memory_per_task
        )
        self._tasks_kept = task_schedule.tasks - 1 if self._memory else 0
        # The log already has the transitions of tasks that are kept whole: only the columns
        # after them, the stored network outputs, are written when a task is archived.
        whole = self._tasks_kept > 0 and self._memory == self.capacity
        self._columns_in_log = columns.width if whole else 0
        self._keep_log = keep_log
        self._log = TransitionLog(folder, runs, task_schedule.chunk_steps, columns.width, keep_log)
        self.replay = buffer.init(
            columns, self.capacity, self._tasks_kept, self._memory, runs, over_devices(runs)
        )

    @property
    def _collects_again(self) -> bool:
        """Return True if old tasks are still collected for, so that D_old keeps growing."""
        return self._task_schedule.collects != "current"

    def view(self, number: int, total_steps: int) -> ReplayView:
        """Return the view of replay in stage `number` after a run's first `total_steps` steps."""
        current = self._task_schedule.current(number)
        collected = [
            self._task_schedule.collected(task, total_steps)
            for task in range(self._task_schedule.tasks)
        ]
        filled = min(collected[current], self.capacity)
        sizes = [min(count, self._memory) for count in collected[:current]]
        sizes += [0] * (len(collected) - current)
        return ReplayView(
            to_int32(current),
            to_int32(filled),
            to_int32(sizes),
            to_int32(collected),
            to_int32(self._environments),
        )

    def append(self, number: int, total_steps: int, rows: Array) -> None:
        """Append the chunk that follows the first `total_steps` steps, [run, part, step, column].

        Each part of the chunk goes to the ring of its task. `log` must follow.
        """
        for part, task in enumerate(self._task_schedule.chunk(number, total_steps)):
            mine = shard(rows[:, part])
            slot = to_int32(self._task_schedule.collected(task, total_steps) % self.capacity)
            if task == self._task_schedule.current(number):
                self.replay = append(self.replay, mine, slot)
            else:
                self.replay = append_old(self.replay, mine, to_int32(task), slot)

    def log(self, number: int, total_steps: int, rows: Array, ended: Ended) -> None:
        """Write the chunk that was appended, and which of its episodes succeeded, to disk."""
        for part, task in enumerate(self._task_schedule.chunk(number, total_steps)):
            successes = [outcome.success for _, position, outcome in ended if position == task]
            self._log.append(task, rows[:, part], successes)

    def archive(self, view: ReplayView, archived: Callable[[Replay], Replay]) -> None:
        """Copy the transitions of a finished task that are kept to D_old.

        `archived` returns the buffers with the task's transitions, and the networks' outputs for
        them, in D_old. It is not called if old tasks are still collected for.
        """
        task = int(view.task)
        if task >= self._tasks_kept:
            return
        if self._collects_again:
            self.replay = set_aside(self.replay, view.task)
            return
        self.replay = archived(self.replay)
        self._log.keep(task, np.asarray(self.replay.old[:, task, :, self._columns_in_log :]))

    def sync(self, number: int) -> dict[str, Stamp]:
        """Flush the log to disk; return the stamps of the files that stage `number` needs."""
        return self._log.sync(self._tasks_in_log(number))

    def _tasks_in_log(self, number: int) -> range:
        """Return the tasks whose transitions the log must have in stage `number`."""
        current = self._task_schedule.current(number)
        first = 0 if self._columns_in_log or self._keep_log else current
        return range(first, min(current + 1, self._task_schedule.tasks))

    def restore(self, number: int, stamps: Stamps) -> None:
        """Restore replay in stage `number` as it was when `sync` returned `stamps`."""
        self._log.cut(stamps)
        old, known = np.array(self.replay.old), self._columns_in_log
        current = self._task_schedule.current(number)
        for task in range(min(current, self._tasks_kept)):
            if known:
                old[:, task, :, :known] = self._log.read(task, self.capacity)
            if not self._collects_again:
                old[:, task, :, known:] = self._log.read_kept(task)
        new = self._log.read(current, self.capacity)
        self.replay = buffer.Replay(*shard((new, old)))

    def forget(self, before: int) -> None:
        """Remove transitions from disk that no checkpoint in stage `before` or later needs."""
        self._log.forget(self._tasks_in_log(before).start)

    def clear(self) -> None:
        """Remove what is not kept from disk."""
        self._log.clear()

    def close(self) -> None:
        """Close the files of the log."""
        self._log.close()
