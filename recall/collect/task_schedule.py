"""The task schedule: which tasks a run collects for, chunk by chunk, and how much of each.

    current   one task after the other, each for its own stage (continual learning)
    seen      the same, and beside every chunk of the current task one of each task before it
    all       one long stage in which the chunks go round all tasks (multi-task learning)

A task schedule is arithmetic on the number of steps of a run, so that nothing of it has to be
saved. Steps are those of the tasks in training: what `seen` collects of old tasks comes on top.
"""

from dataclasses import dataclass
from typing import Literal

Collects = Literal["current", "seen", "all"]


@dataclass(frozen=True)
class TaskSchedule:
    """Positions in the sequence, as functions of the stage and of a run's steps in all."""

    collects: Collects
    tasks: int
    steps_per_task: int
    chunk_steps: int

    @property
    def stages(self) -> int:
        """Parts of a run between which the tasks in training change."""
        return 1 if self.collects == "all" else self.tasks

    @property
    def steps_per_stage(self) -> int:
        """Steps of each run in each stage."""
        return self.tasks * self.steps_per_task // self.stages

    @property
    def total_steps(self) -> int:
        """Steps of each run in all."""
        return self.tasks * self.steps_per_task

    def steps_at(self, stage: int, steps: int) -> int:
        """Steps of a run in all, when it has gone `steps` of a stage."""
        return stage * self.steps_per_stage + steps

    @property
    def most_at_once(self) -> int:
        """Tasks in one chunk, at most."""
        return self.tasks if self.collects == "seen" else 1

    @property
    def most_played(self) -> int:
        """Tasks whose environments stand ready at once, at most."""
        return 1 if self.collects == "current" else self.tasks

    def learnt(self, stage: int) -> tuple[int, ...]:
        """The tasks that a stage is there to learn."""
        return tuple(range(self.tasks)) if self.collects == "all" else (stage,)

    def current(self, stage: int) -> int:
        """The task whose transitions are D_new; those of the others are D_old."""
        return self.learnt(stage)[-1]

    def played(self, stage: int) -> tuple[int, ...]:
        """The tasks whose environments stand ready in a stage."""
        if self.collects == "seen":
            return tuple(range(min(stage + 1, self.tasks)))
        return self.learnt(stage)

    def chunk(self, stage: int, total_steps: int) -> tuple[int, ...]:
        """The tasks of the chunk that follows a run's first `total_steps` steps."""
        if self.collects == "all":
            return (total_steps // self.chunk_steps % self.tasks,)
        return self.played(stage)

    def collected(self, position: int, total_steps: int) -> int:
        """Transitions collected of a task within a run's first `total_steps` steps."""
        if self.collects == "all":
            rounds, rest = divmod(total_steps // self.chunk_steps, self.tasks)
            return (rounds + (position < rest)) * self.chunk_steps
        since = max(total_steps - position * self.steps_per_task, 0)
        return since if self.collects == "seen" else min(since, self.steps_per_task)
