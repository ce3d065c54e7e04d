"""Task schedule: for which tasks a run collects, chunk by chunk, and how much for each.

    current   one task after the other, each in its own stage (continual learning)
    seen      as `current`, but every chunk also has a part for each earlier task
    all       one long stage in which the chunks cycle through all tasks (multi-task learning)

A task schedule is a function of a run's number of steps, so it has no state to save. Only steps of
the tasks in training count: the steps that `seen` collects for old tasks are additional.
"""

from dataclasses import dataclass
from typing import Literal

Collects = Literal["current", "seen", "all"]


@dataclass(frozen=True)
class TaskSchedule:
    """Positions in the sequence as functions of the stage and of a run's total steps."""

    collects: Collects
    tasks: int
    steps_per_task: int
    chunk_steps: int

    @property
    def stages(self) -> int:
        """Number of stages: parts of a run between which the tasks in training change."""
        return 1 if self.collects == "all" else self.tasks

    @property
    def steps_per_stage(self) -> int:
        """Number of steps of each run in each stage."""
        return self.tasks * self.steps_per_task // self.stages

    @property
    def total_steps(self) -> int:
        """Total number of steps of each run."""
        return self.tasks * self.steps_per_task

    def steps_at(self, stage: int, steps: int) -> int:
        """Return a run's total steps after `steps` steps of a stage."""
        return stage * self.steps_per_stage + steps

    @property
    def most_at_once(self) -> int:
        """Maximum number of tasks in one chunk."""
        return self.tasks if self.collects == "seen" else 1

    @property
    def max_live_tasks(self) -> int:
        """Maximum number of tasks whose environments exist at the same time."""
        return 1 if self.collects == "current" else self.tasks

    def learned(self, stage: int) -> tuple[int, ...]:
        """Return the tasks that are learned in a stage."""
        return tuple(range(self.tasks)) if self.collects == "all" else (stage,)

    def current(self, stage: int) -> int:
        """Return the task whose transitions are D_new; those of the other tasks are D_old."""
        return self.learned(stage)[-1]

    def played(self, stage: int) -> tuple[int, ...]:
        """Return the tasks whose environments exist in a stage."""
        if self.collects == "seen":
            return tuple(range(min(stage + 1, self.tasks)))
        return self.learned(stage)

    def chunk(self, stage: int, total_steps: int) -> tuple[int, ...]:
        """Return the tasks of the chunk that follows a run's first `total_steps` steps."""
        if self.collects == "all":
            return (total_steps // self.chunk_steps % self.tasks,)
        return self.played(stage)

    def before_chunk(self, position: int, number: int) -> int:
        """Return a run's total steps before chunk `number` of a task, as `collected` counts."""
        if self.collects == "all":
            return (number * self.tasks + position) * self.chunk_steps
        return position * self.steps_per_task + number * self.chunk_steps

    def collected(self, position: int, total_steps: int) -> int:
        """Return how many transitions of a task a run has after its first `total_steps` steps."""
        if self.collects == "all":
            rounds, rest = divmod(total_steps // self.chunk_steps, self.tasks)
            return (rounds + (position < rest)) * self.chunk_steps
        since = max(total_steps - position * self.steps_per_task, 0)
        return since if self.collects == "seen" else min(since, self.steps_per_task)
