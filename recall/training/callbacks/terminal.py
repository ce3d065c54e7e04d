"""Live terminal view: progress bars, speed, time left and the success of every task."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from recall.config.spec import FleetSpec
from recall.runs.description import silent_tasks_in
from recall.runs.evaluations import EvaluationRecord
from recall.training.callbacks.callback import Callback
from recall.training.callbacks.status import Status
from recall.training.callbacks.text import failure_text, health_text

_REFRESHES_PER_SECOND = 4
_BAR_WIDTH, _SHORTEST_BAR = 30, 5
_BESIDE_BAR = 70  # columns taken by a long name, the steps and the time left


class LiveView(Callback):
    """A live view that is redrawn in place, with messages printed above it."""

    def __init__(self, console: Console | None = None):
        self._console = console or Console(stderr=True)
        self._live: Live | None = None
        self._status: Status | None = None
        self._activity = "starting"
        self._evaluated_at = 0

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Start drawing."""
        self._status = Status(spec, total_steps, silent_tasks_in(folder))
        self._live = Live(
            console=self._console,
            get_renderable=self._view,
            refresh_per_second=_REFRESHES_PER_SECOND,
            transient=False,
        )
        self._live.start()

    def on_steps(self, total_steps: int) -> None:
        """Update the progress bars."""
        if self._status is not None:
            self._status.step(total_steps)
            self._activity = "training"

    def on_activity(self, what: str) -> None:
        """Show the activity in the title."""
        self._activity = what

    def on_compiled(self, seconds: float) -> None:
        """Count the time in the time left."""
        if self._status is not None:
            self._status.compiled(seconds)

    def on_evaluation_start(self, total_steps: int) -> None:
        """Show in the title which step is being evaluated."""
        if self._status is not None:
            self._status.evaluating_step = total_steps

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Update the table of successes."""
        if self._status is not None:
            self._status.evaluated(records)
            self._evaluated_at = total_steps

    def on_failure(self, name: str, step: int, reason: str) -> None:
        """Print which run failed, above the view."""
        assert self._status is not None
        self._status.failed(name)
        text = failure_text(name, step, reason, len(self._status.spec.runs))
        self._console.print(Text(text, style="red"))

    def on_health(self, name: str, step: int, warning: str) -> None:
        """Print what is wrong with the run, above the view."""
        self._console.print(Text(health_text(name, step, warning), style="yellow"))

    def on_message(self, message: str) -> None:
        """Print the message above the view."""
        self._console.print(Text(message, style="yellow"))

    def close(self) -> None:
        """Stop updating; the last view stays on the screen."""
        if self._live is not None:
            if self._status is not None and self._status.is_over:
                self._activity = "finished"
            self._live.stop()
            self._live = None

    def _view(self) -> Group:
        status = self._status
        assert status is not None
        spec = status.spec
        runs = "1 run" if len(status.runs) == 1 else f"{len(status.runs)} runs"
        parts = [runs, self._activity, status.speed(), status.evaluation()]
        title = Text.assemble((spec.method.label, "bold"), *(f"  {part}" for part in parts if part))
        return Group(title, self._bars(status), *self._table(status))

    def _bars(self, status: Status) -> Table:
        spec = status.spec
        width = min(_BAR_WIDTH, max(_SHORTEST_BAR, self._console.width - _BESIDE_BAR))
        bars = Table.grid(padding=(0, 2))
        for name, done, total in (
            (status.stage_name(), status.stage_steps, spec.task_schedule.steps_per_stage),
            ("all tasks", status.total_steps, spec.total_steps),
        ):
            bar = ProgressBar(total, done, width=width)
            left = status.time_left(total - done)
            bars.add_row(name, bar, f"{done:,} of {total:,}", left)
        return bars

    def _table(self, status: Status) -> list[Table]:
        if not self._evaluated_at:
            return []
        table = Table(f"{status.measured()} at {self._evaluated_at:,}", *status.labels)
        for row in status.rows():
            table.add_row(*row)
        name = "mean" if len(status.runs) > 1 else status.runs[0]
        table.add_row(name, *status.means(), style="bold")
        return [table]
