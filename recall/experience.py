"""What a fleet has seen: replay on the device, and on disk the log that can fill it again."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np

from recall import replay as buffers
from recall.learn import fleet
from recall.learn.build import Blueprint
from recall.spec import FleetSpec
from recall.transitions import TransitionLog
from recall.types import LearnerState, Stage

Array = np.ndarray


class Experience:
    """D_new and D_old of every run."""

    def __init__(self, spec: FleetSpec, blueprint: Blueprint, folder: Path):
        schedule, columns = spec.settings.schedule, blueprint.columns
        self._blueprint = blueprint
        self._chunk_steps = schedule.chunk_steps
        self.capacity = min(schedule.replay_capacity, spec.steps_per_task)
        wanted = spec.method.memory_per_task
        self._memory = self.capacity if wanted is None else min(wanted, self.capacity)
        self._tasks_kept = spec.tasks - 1 if spec.method.keeps() else 0
        # Of tasks that are kept whole the log has the transitions: only the columns behind
        # them, the stored policies, are written when a task is retired.
        whole = self._tasks_kept > 0 and self._memory == self.capacity
        self._columns_in_log = columns.width if whole else 0
        self._log = TransitionLog(folder, len(spec.runs), schedule.chunk_steps, columns.width)
        self.replay = buffers.init(
            columns, self.capacity, self._tasks_kept, self._memory, len(spec.runs)
        )

    def append(self, task: int, steps: int, rows: Array) -> None:
        """Add a chunk, rows [run, chunk, columns], after the first `steps` steps of a task."""
        position = jnp.asarray(steps % self.capacity)
        self.replay = fleet.append(self.replay, jnp.asarray(rows), position)
        self._log.append(task, rows)

    def retire(self, state: LearnerState, stage: Stage) -> int:
        """The end of a task: what is kept of it becomes old; returns how much is."""
        task = int(stage.task)
        if task < self._tasks_kept:
            self.replay = fleet.retire(self._blueprint, state, self.replay, stage)
            self._log.keep(task, np.asarray(self.replay.old[:, task, :, self._columns_in_log :]))
        return min(self._memory, int(stage.new_size))

    def sync(self) -> None:
        """Put all on disk."""
        self._log.sync()

    def check(self, task: int, steps: int) -> None:
        """Refuse if some of the first `steps` steps of a task are no longer on disk."""
        self._log.check(task, steps // self._chunk_steps)

    def restore(self, task: int, steps: int) -> None:
        """Go back to the first `steps` steps of a task."""
        self._log.cut(task, steps // self._chunk_steps)
        old, known = np.array(self.replay.old), self._columns_in_log
        for kept in range(min(task, self._tasks_kept)):
            if known:
                old[:, kept, :, :known] = self._log.read(kept, self.capacity)
            old[:, kept, :, known:] = self._log.read_kept(kept)
        new = self._log.read(task, self.capacity)
        self.replay = buffers.Replay(jnp.array(new), jnp.array(old))

    def forget(self, before: int) -> None:
        """Remove from disk what no checkpoint in task `before` or later needs."""
        if not self._columns_in_log:
            self._log.forget(before)

    def clear(self) -> None:
        """Remove everything from disk."""
        self._log.clear()

    def close(self) -> None:
        """Close the files."""
        self._log.close()
