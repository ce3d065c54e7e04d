"""What is shown of a fleet in training: a live view on a terminal, lines in logs and pipes."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from recall.config.spec import FleetSpec
from recall.runs.evaluations import EvaluationRecord
from recall.runs.wording import counted
from recall.training.callbacks.status import Status
from recall.worlds.registry import task_label

_REFRESHES_PER_SECOND = 4
_SECONDS_BETWEEN_LINES = 30.0
_RUNS_SHOWN = 8  # larger fleets show only their mean


class Display(Status):
    """Follows the status of a fleet, and shows messages."""

    def show(self, line: str, style: str = "") -> None:
        """Show a line."""
        raise NotImplementedError

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


class LiveView(Display):
    """A live view that is redrawn in place, with messages printed above it."""

    def __init__(self, console: Console | None = None):
        self._console = console or Console(stderr=True)
        self._live: Live | None = None

    def show(self, line: str, style: str = "") -> None:
        """Print a line above the view."""
        self._console.print(Text(line, style=style))

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Start drawing."""
        super().on_start(spec, folder, total_steps)
        self._live = Live(
            console=self._console,
            get_renderable=self._view,
            refresh_per_second=_REFRESHES_PER_SECOND,
            transient=False,
        )
        self._live.start()

    def close(self) -> None:
        """Stop updating; the last view stays on the screen."""
        if self._live is not None:
            if self.is_over:
                self.activity = "finished"
            self._live.refresh()  # in a notebook, `stop` does not draw
            self._live.stop()
            self._live = None

    def _view(self) -> Group:
        parts = [counted(len(self.runs), "run"), self.activity, self.speed(), self.evaluation()]
        assert self.spec is not None
        label = (self.spec.method.label, "bold")
        title = Text.assemble(label, *(f"  {part}" for part in parts if part))
        if not self.latest.step:
            return Group(title, self.bars)
        table = Table(f"{self.latest.measured} at {self.latest.step:,}", *self.latest.labels)
        for row in self.latest.rows() if 1 < len(self.runs) <= _RUNS_SHOWN else ():
            table.add_row(*row)
        name = "mean" if len(self.runs) > 1 else self.runs[0]
        table.add_row(name, *self.latest.means(), style="bold")
        return Group(title, self.bars, table)


class Lines(Display):
    """Prints a line for each evaluation, and one about twice a minute.

    They go to standard error, so that standard output holds only results.
    """

    def __init__(self, file: TextIO | None = None):
        self._file = file or sys.stderr
        self._shown_at = 0.0
        self._compiling_shown_in = -1  # the stage

    def show(self, line: str, style: str = "") -> None:
        """Print a line."""
        print(line, file=self._file, flush=True)
        self._shown_at = time.monotonic()

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Print what is trained."""
        super().on_start(spec, folder, total_steps)
        where = f", from step {total_steps:,}" if total_steps else ""
        self.show(
            f"{spec.method.label}: {counted(len(spec.runs), 'run')} of {spec.total_steps:,} steps, "
            f"{_tasks(spec)}{where}"
        )

    def on_steps(self, total_steps: int) -> None:
        """Print the progress and the speed, if the last line is more than 30 seconds old."""
        super().on_steps(total_steps)
        if time.monotonic() - self._shown_at > _SECONDS_BETWEEN_LINES:
            self.show(self._place())

    def on_activity(self, what: str) -> None:
        """Print once in every stage that it compiles."""
        if self.spec is None or what != "compiling" or self.stage == self._compiling_shown_in:
            return
        self._compiling_shown_in = self.stage
        self.show(f"step {self.total_steps:,} of {self.sequence_steps:,} | compiling")

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Print the progress and the success of every task."""
        super().on_evaluation(total_steps, records)
        self.show(f"{self._place()} | {self.latest.sentence()}")

    def _place(self) -> str:
        parts = [
            f"step {self.total_steps:,} of {self.sequence_steps:,}",
            self.stage_name(),
            self.speed(),
            self.time_left(self.sequence_steps - self.total_steps),
            self.evaluation(),
        ]
        return " | ".join(part for part in parts if part)


def failure_text(name: str, step: int, reason: str, runs: int) -> str:
    """Return the line that reports a failed run of a fleet of `runs` runs."""
    others = "; the other runs continue" if runs > 1 else ""
    return f"run {name} failed at step {step:,}: {reason}{others}"


def health_text(name: str, step: int, warning: str) -> str:
    """Return the line that reports a health warning of a run."""
    return f"warning: run {name} at step {step:,}: {warning}"


def _tasks(spec: FleetSpec) -> str:
    """Return the tasks of a fleet, or how many sequences it has if its runs have different ones."""
    sequences = {tuple(map(task_label, run.tasks)) for run in spec.runs}
    if len(sequences) == 1:
        return f"tasks {', '.join(sequences.pop())}"
    return f"{len(sequences)} sequences of {counted(spec.tasks, 'task')}"
