"""The status of a fleet in training, in numbers: progress, speed and success."""

import datetime
import time
from collections.abc import Sequence
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn

from recall.config.spec import FleetSpec
from recall.runs.description import tasks_without_success_flag_in
from recall.runs.evaluations import EvaluationRecord
from recall.runs.latest import Latest
from recall.training.callbacks.callback import Callback

_WINDOW_SECONDS = 60.0


class Status(Callback):
    """Progress bars and speed of a fleet, and the latest success of every run and task."""

    spec: FleetSpec | None = None  # before training starts
    activity = "starting"
    evaluating_step: int | None = None  # of the evaluation that runs beside training

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Begin to follow the fleet."""
        self.spec, self.schedule, self.total_steps = spec, spec.task_schedule, total_steps
        self.runs = [run.name for run in spec.runs]
        without_success = tasks_without_success_flag_in(folder)
        self.latest = Latest(self.runs, [run.task_names for run in spec.runs], without_success)
        self._update_after = spec.settings.schedule.update_after
        self._compiled = [0.0] * self.schedule.stages  # seconds of compiling by stage
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
        self._move_to(total_steps)

    def on_steps(self, total_steps: int) -> None:
        """Update the progress."""
        self._move_to(total_steps)
        self.activity = "training"

    def _move_to(self, total_steps: int) -> None:
        learned_before = self._learns
        self.total_steps = total_steps
        if self._learns != learned_before:  # steps with and without updates differ in speed
            self.bars.reset(self._bar, left="")
        left = self.time_left(self.sequence_steps - total_steps)
        self.bars.update(self._bar, completed=total_steps, left=left)
        stage_total = self.schedule.steps_per_stage
        self.bars.update(
            self._stage_bar,
            completed=self.stage_steps,
            total=stage_total,
            description=self.stage_name(),
            left=self.time_left(stage_total - self.stage_steps),
        )

    def on_activity(self, what: str) -> None:
        """Remember the activity."""
        self.activity = what

    def on_compiled(self, seconds: float) -> None:
        """Count the time of a compilation."""
        if self.spec is not None:
            self._compiled[self.stage] += seconds

    def on_evaluation_start(self, total_steps: int) -> None:
        """Remember which step is being evaluated."""
        self.evaluating_step = total_steps

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Update the success of every task."""
        self.evaluating_step = None
        self.latest.add(total_steps, records)

    def evaluation(self) -> str:
        """Return which step is being evaluated and how far training is ahead of it, as text."""
        if self.evaluating_step is None:
            return ""
        behind = self.total_steps - self.evaluating_step
        where = f"evaluating step {self.evaluating_step:,}"
        return f"{where}, {behind:,} steps behind" if behind else where

    @property
    def sequence_steps(self) -> int:
        """Return the total number of steps of each run."""
        return self.schedule.stages * self.schedule.steps_per_stage

    @property
    def is_over(self) -> bool:
        """Return True if all steps are trained and the last evaluation is reported."""
        return self.total_steps == self.sequence_steps and self.evaluating_step is None

    @property
    def stage(self) -> int:
        """Return the stage of the task schedule that the fleet is in."""
        past = max(0, self.total_steps - 1) // self.schedule.steps_per_stage
        return min(self.schedule.stages - 1, past)

    def stage_name(self) -> str:
        """Return the number of the task, the number of tasks and the task's name, as text."""
        tasks = self.latest.labels
        if self.schedule.stages < len(tasks):
            return f"{len(tasks)} tasks at once"
        return f"task {self.stage + 1} of {len(tasks)}: {tasks[self.stage]}"

    @property
    def stage_steps(self) -> int:
        """Return the number of steps since the start of the stage."""
        return self.total_steps - self.stage * self.schedule.steps_per_stage

    @property
    def _learns(self) -> bool:
        """Return True if the learner already updates at this step of the stage."""
        return self.stage_steps >= self._update_after

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
        stages = (self.total_steps + steps - 1) // self.schedule.steps_per_stage
        compiling = (stages - self.stage) * self._compiled[self.stage]
        return f"{datetime.timedelta(seconds=round(steps / rate + compiling))} left"
