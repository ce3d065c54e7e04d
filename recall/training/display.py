"""Progress of a fleet in training: redrawn in place on a terminal, lines in logs and pipes."""

import datetime
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from recall.config.spec import FleetSpec
from recall.files.streams import is_terminal
from recall.runs.description import tasks_without_success_flag_in
from recall.runs.evaluations import EvaluationRecord
from recall.runs.latest import Latest
from recall.runs.wording import counted
from recall.training.callbacks import Callback

_WINDOW_SECONDS = 60.0
_REFRESHES_PER_SECOND = 4
_SECONDS_BETWEEN_LINES = 30.0
_RUNS_SHOWN = 8  # larger fleets show only their mean


class Display(Callback):
    """Shows the progress, the speed and the latest success of every run and task.

    If it is `live`, bars and a table are redrawn in place, with messages above them. Otherwise, a
    line is printed for each evaluation, and one about twice a minute.
    """

    spec: FleetSpec | None = None  # before training starts
    activity = "starting"
    evaluating_step: int | None = None  # of the evaluation that runs beside training
    _view: Live | None = None

    def __init__(self, console: Console | None = None, live: bool = False):
        self._console, self._is_live = console or Console(stderr=True), live
        self._shown_at = 0.0

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Begin to follow the fleet."""
        self.spec, self.schedule, self.total_steps = spec, spec.task_schedule, total_steps
        self.runs = [run.name for run in spec.runs]
        without_success = tasks_without_success_flag_in(folder)
        self.latest = Latest(self.runs, [run.task_names for run in spec.runs], without_success)
        self._compiled = 0.0
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} of {task.total:,}"),
            TextColumn("{task.fields[left]}"),
            speed_estimate_period=_WINDOW_SECONDS,
            # Compiling is not part of the speed.
            get_time=lambda: time.monotonic() - self._compiled,
        )
        stage_steps = self.schedule.steps_per_stage
        self._stage_bar = self.bars.add_task(self.stage_name(), total=stage_steps, left="")
        self._bar = self.bars.add_task("all tasks", total=spec.total_steps, left="")
        self._move_to(total_steps)
        if self._is_live:
            self._view = Live(
                console=self._console,
                get_renderable=self._draw,
                refresh_per_second=_REFRESHES_PER_SECOND,
            )
            self._view.start()
        else:
            sequences = {run.task_names for run in spec.runs}
            tasks = f"tasks {', '.join(sequences.pop())}"
            if sequences:
                tasks = f"{len(sequences) + 1} sequences of {counted(spec.tasks, 'task')}"
            runs, where = counted(len(self.runs), "run"), f"{spec.total_steps:,} steps"
            start = f", from step {total_steps:,}" if total_steps else ""
            self.show(f"{spec.method.label}: {runs} of {where}, {tasks}{start}")

    def on_steps(self, total_steps: int) -> None:
        """Update the progress."""
        self._move_to(total_steps)
        self.on_activity("training")

    def _move_to(self, total_steps: int) -> None:
        learned_before = self._learns
        self.total_steps = total_steps
        if self._learns != learned_before:  # steps with and without updates differ in speed
            self.bars.reset(self._bar, left="")
        for bar, completed in ((self._bar, total_steps), (self._stage_bar, self.stage_steps)):
            left = self.time_left((self.bars.tasks[bar].total or 0) - completed)
            self.bars.update(bar, completed=completed, left=left)
        self.bars.update(self._stage_bar, description=self.stage_name())

    def on_activity(self, what: str) -> None:
        """Remember the activity, and print it if nothing was printed for a while."""
        self.activity = what
        silent = time.monotonic() - self._shown_at > _SECONDS_BETWEEN_LINES
        if silent and not self._is_live and self.spec is not None:
            self.show(f"{self._place()} | {what}")

    def on_compiled(self, seconds: float) -> None:
        """Count the time of a compilation."""
        if self.spec is not None:
            self._compiled += seconds

    def on_evaluation_start(self, total_steps: int) -> None:
        """Remember which step is being evaluated."""
        self.evaluating_step = total_steps

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Show the success of every task."""
        self.evaluating_step = None
        self.latest.add(total_steps, records)
        if not self._is_live:
            self.show(f"{self._place()} | {self.latest.sentence()}")

    def evaluation(self) -> str:
        """Return which step is being evaluated, as text."""
        return "" if self.evaluating_step is None else f"evaluating step {self.evaluating_step:,}"

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
        assert self.spec is not None
        return self.stage_steps >= self.spec.settings.schedule.update_after

    def speed(self) -> str:
        """Return the speed of all runs together and of each run, as text; "" if not known yet."""
        rate = self.bars.tasks[self._bar].speed
        each = f" ({rate:,.0f} a run)" if rate and len(self.runs) > 1 else ""
        return f"{rate * len(self.runs):,.0f} steps/s{each}" if rate else ""

    def time_left(self, steps: float) -> str:
        """Return the time that `steps` more steps will take, or "" while it cannot be estimated."""
        rate = self.bars.tasks[self._bar].speed if self._learns else None
        return f"{datetime.timedelta(seconds=round(steps / rate))} left" if rate else ""

    def show(self, line: str, style: str = "") -> None:
        """Print a line, above the view if there is one."""
        text = Text(line, style=style if self._is_live else "")
        self._console.print(text, soft_wrap=not self._is_live)
        self._shown_at = time.monotonic()

    def on_failure(self, name: str, step: int, reason: str) -> None:
        """Show which run failed."""
        self.latest.clear(name)
        self.show(failure_text(name, step, reason, len(self.runs)), "red")

    def on_health(self, name: str, step: int, warning: str) -> None:
        """Show what is wrong with the run."""
        self.show(health_text(name, step, warning), "yellow")

    def on_message(self, message: str) -> None:
        """Show the message."""
        self.show(message, "yellow")

    def close(self) -> None:
        """Stop updating; the last view stays on the screen."""
        if self.spec is None or self._view is None:
            return
        if self.total_steps == self.spec.total_steps and self.evaluating_step is None:
            self.activity = "finished"
        self._view.refresh()  # in a notebook, `stop` does not draw
        self._view.stop()
        self._view = None

    def _draw(self) -> Group:
        assert self.spec is not None
        parts = [counted(len(self.runs), "run"), self.activity, self.speed(), self.evaluation()]
        label = (self.spec.method.label, "bold")
        title = Text.assemble(label, *(f"  {part}" for part in parts if part))
        if not self.latest.step:
            return Group(title, self.bars)
        table = Table(f"{self.latest.measured} at {self.latest.step:,}", *self.latest.labels)
        *rows, means = self.latest.rows()
        for row in rows if len(rows) <= _RUNS_SHOWN else ():
            table.add_row(*row)
        table.add_row(*means, style="bold")
        return Group(title, self.bars, table)

    def _place(self) -> str:
        bar = self.bars.tasks[self._bar]
        where = f"step {self.total_steps:,} of {bar.total:,.0f}"
        parts = (where, self.stage_name(), self.speed(), bar.fields["left"], self.evaluation())
        return " | ".join(part for part in parts if part)


def failure_text(name: str, step: int, reason: str, runs: int) -> str:
    """Return the line that reports a failed run of a fleet of `runs` runs."""
    others = "; the other runs continue" if runs > 1 else ""
    return f"run {name} failed at step {step:,}: {reason}{others}"


def health_text(name: str, step: int, warning: str) -> str:
    """Return the line that reports a health warning of a run."""
    return f"warning: run {name} at step {step:,}: {warning}"


def on_screen(quiet: bool = False) -> Callback:
    """Return a live view on a terminal or in a notebook, lines elsewhere, nothing if `quiet`.

    In a notebook, rich draws in a widget, for which it needs ipywidgets.
    """
    if quiet:
        return Callback()
    console = Console(stderr=True)
    in_widget = console.is_jupyter and find_spec("ipywidgets") is not None
    return Display(console, live=in_widget or is_terminal(console))
