"""The status of a fleet in training, in numbers: progress, speed and success."""

import datetime
import time
from collections.abc import Sequence

from rich.progress import BarColumn, Progress, TextColumn

from recall.config.spec import FleetSpec
from recall.runs.evaluations import EvaluationRecord
from recall.runs.latest import Latest

_WINDOW_SECONDS = 60.0


class Status:
    """Progress bars and speed of a fleet, and the latest success of every run and task."""

    def __init__(self, spec: FleetSpec, total_steps: int, without_success: Sequence[str] = ()):
        """Start at `total_steps`; tasks in `without_success` show their returns instead."""
        self.spec = spec
        self.runs = [run.name for run in spec.runs]
        self.latest = Latest(self.runs, [run.task_names for run in spec.runs], without_success)
        self.total_steps = total_steps
        self._compiled = [0.0] * spec.task_schedule.stages  # seconds of compiling by stage
        self.evaluating_step: int | None = None  # of the evaluation that runs beside training
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} of {task.total:,}"),
            TextColumn("{task.fields[left]}"),
            speed_estimate_period=_WINDOW_SECONDS,
            # Compiling is not part of the speed, but added to the time left.
            get_time=lambda: time.monotonic() - sum(self._compiled),
        )
        self._stage_bar = self.bars.add_task(self.stage_name(), total=None, left="")
        self._bar = self.bars.add_task("all tasks", total=spec.total_steps, left="")
        self.step(total_steps)

    def step(self, total_steps: int) -> None:
        """Note that the fleet has reached `total_steps`."""
        learned_before = self._learns
        self.total_steps = total_steps
        if self._learns != learned_before:  # steps with and without updates differ in speed
            self.bars.reset(self._bar, left="")
        self.bars.update(
            self._bar,
            completed=total_steps,
            left=self.time_left(self.spec.total_steps - total_steps),
        )
        stage_total = self.spec.task_schedule.steps_per_stage
        self.bars.update(
            self._stage_bar,
            completed=self.stage_steps,
            total=stage_total,
            description=self.stage_name(),
            left=self.time_left(stage_total - self.stage_steps),
        )

    def compiled(self, seconds: float) -> None:
        """Count the time of a compilation."""
        self._compiled[self.stage] += seconds

    def evaluation(self) -> str:
        """Return which step is being evaluated and how far training is ahead of it, as text."""
        if self.evaluating_step is None:
            return ""
        behind = self.total_steps - self.evaluating_step
        where = f"evaluating step {self.evaluating_step:,}"
        return f"{where}, {behind:,} steps behind" if behind else where

    def evaluated(self, step: int, records: Sequence[EvaluationRecord]) -> None:
        """Store the successes of an evaluation, or the returns of tasks without success."""
        self.evaluating_step = None
        self.latest.add(step, records)

    @property
    def is_over(self) -> bool:
        """Return True if all steps are trained and the last evaluation is reported."""
        return self.total_steps == self.spec.total_steps and self.evaluating_step is None

    @property
    def stage(self) -> int:
        """Return the stage of the task schedule that the fleet is in."""
        task_schedule = self.spec.task_schedule
        return min(
            task_schedule.stages - 1, max(0, self.total_steps - 1) // task_schedule.steps_per_stage
        )

    def stage_name(self) -> str:
        """Return the number of the task, the number of tasks and the task's name, as text."""
        if self.spec.task_schedule.stages < self.spec.tasks:
            return f"{self.spec.tasks} tasks at once"
        return f"task {self.stage + 1} of {self.spec.tasks}: {self.latest.labels[self.stage]}"

    @property
    def stage_steps(self) -> int:
        """Return the number of steps since the start of the stage."""
        return self.total_steps - self.stage * self.spec.task_schedule.steps_per_stage

    @property
    def _learns(self) -> bool:
        """Return True if the learner already updates at this step of the stage."""
        return self.stage_steps >= self.spec.settings.schedule.update_after

    @property
    def steps_per_second(self) -> float:
        """Return the steps per second of one run over the last minute, 0 if not known yet."""
        return self.bars.tasks[1].speed or 0.0

    def speed(self) -> str:
        """Return the speed of all runs together and of each run, as text."""
        rate = self.steps_per_second
        if not rate:
            return ""
        each = f" ({rate:,.0f} a run)" if len(self.runs) > 1 else ""
        return f"{rate * len(self.runs):,.0f} steps/s{each}"

    def time_left(self, steps: int) -> str:
        """Return the time that `steps` more steps will take, or "" while it cannot be estimated.

        Every later stage is expected to compile for as long as the current one did.
        """
        rate = self.steps_per_second
        if not rate or not self._learns:
            return ""
        stages = (self.total_steps + steps - 1) // self.spec.task_schedule.steps_per_stage
        compiling = (stages - self.stage) * self._compiled[self.stage]
        return f"{datetime.timedelta(seconds=round(steps / rate + compiling))} left"
