"""What a fleet has seen: replay on the device, and on disk the log that can fill it again."""

from pathlib import Path

import numpy as np

from recall import replay as buffers
from recall.learn import fleet
from recall.learn.build import Blueprint
from recall.learn.devices import over_devices, place, sent
from recall.spec import FleetSpec
from recall.transitions import TransitionLog
from recall.types import LearnerState, Stage

Array = np.ndarray


class Experience:
    """D_new and D_old of every run."""

    def __init__(self, spec: FleetSpec, blueprint: Blueprint, folder: Path):
        schedule, columns = spec.settings.schedule, blueprint.columns
        self._blueprint = blueprint
        self._course = spec.course
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
        runs = len(spec.runs)
        self.replay = buffers.init(
            columns, self.capacity, self._tasks_kept, self._memory, runs, over_devices(runs)
        )

    @property
    def _collects_again(self) -> bool:
        """Whether old tasks are collected for too, so that D_old goes on being filled."""
        return self._course.collects != "current"

    def stage(self, number: int, total_steps: int) -> Stage:
        """What the learner finds in stage `number` after a run's first `total_steps` steps."""
        current = self._course.current(number)
        sizes = [
            min(self._course.collected(task, total_steps), self._memory) if task < current else 0
            for task in range(self._course.tasks)
        ]
        filled = min(self._course.collected(current, total_steps), self.capacity)
        return Stage(sent(current), sent(filled), sent(sizes))

    def append(self, number: int, total_steps: int, rows: Array) -> None:
        """Add the chunk that follows the first `total_steps` steps, rows [run, part, step, column].

        Each of its parts goes into the ring of its task.
        """
        for part, task in enumerate(self._course.chunk(number, total_steps)):
            mine = place(rows[:, part])
            slot = sent(self._course.collected(task, total_steps) % self.capacity)
            if task == self._course.current(number):
                self.replay = fleet.append(self.replay, mine, slot)
            else:
                self.replay = fleet.append_old(self.replay, mine, sent(task), slot)
            self._log.append(task, rows[:, part])

    def retire(self, state: LearnerState, stage: Stage) -> None:
        """The end of a task: what is kept of it becomes old."""
        task = int(stage.task)
        if task >= self._tasks_kept:
            return
        if self._collects_again:
            self.replay = fleet.set_aside(self.replay, stage.task)
            return
        self.replay = fleet.retire(self._blueprint, state, self.replay, stage)
        self._log.keep(task, np.asarray(self.replay.old[:, task, :, self._columns_in_log :]))

    def sync(self) -> None:
        """Put all on disk."""
        self._log.sync()

    def check(self, number: int, total_steps: int) -> None:
        """Refuse if some of the first `total_steps` steps are no longer on disk."""
        self._log.check(self._chunks(number, total_steps))

    def _chunks(self, number: int, total_steps: int) -> dict[int, int]:
        """By task, how many of the chunks that the log must have there are."""
        current = self._course.current(number)
        tasks = range(current + 1) if self._columns_in_log else (current,)
        return {
            task: self._course.collected(task, total_steps) // self._chunk_steps for task in tasks
        }

    def restore(self, number: int, total_steps: int) -> None:
        """Go back to the first `total_steps` steps, in stage `number`."""
        self._log.cut(self._chunks(number, total_steps))
        old, known = np.array(self.replay.old), self._columns_in_log
        current = self._course.current(number)
        for task in range(min(current, self._tasks_kept)):
            if known:
                old[:, task, :, :known] = self._log.read(task, self.capacity)
            if not self._collects_again:
                old[:, task, :, known:] = self._log.read_kept(task)
        new = self._log.read(current, self.capacity)
        self.replay = buffers.Replay(*place((new, old)))

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
