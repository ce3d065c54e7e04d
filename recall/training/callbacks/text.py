"""Plain text output for logs and pipes: a line per evaluation, and one about twice a minute."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from recall.config.spec import FleetSpec
from recall.runs.description import silent_tasks_in
from recall.runs.evaluations import EvaluationRecord
from recall.runs.wording import counted
from recall.training.callbacks.callback import Callback
from recall.training.callbacks.status import Status
from recall.worlds.registry import task_label

_SECONDS_BETWEEN_LINES = 30.0


class Lines(Callback):
    """Prints lines to standard error, so that standard output holds only results."""

    def __init__(self, file: TextIO | None = None):
        self._file = file or sys.stderr
        self._status: Status | None = None
        self._told_at = 0.0
        self._compiling_told_in = -1  # the stage

    def _tell(self, line: str) -> None:
        print(line, file=self._file, flush=True)
        self._told_at = time.monotonic()

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Print what is trained."""
        self._status = Status(spec, total_steps, silent_tasks_in(folder))
        runs = "1 run" if len(spec.runs) == 1 else f"{len(spec.runs)} runs"
        where = f", from step {total_steps:,}" if total_steps else ""
        self._tell(
            f"{spec.method.label}: {runs} of {spec.total_steps:,} steps, {_tasks(spec)}{where}"
        )

    def on_steps(self, total_steps: int) -> None:
        """Print the progress and the speed, if the last line is more than 30 seconds old."""
        assert self._status is not None
        self._status.step(total_steps)
        if time.monotonic() - self._told_at > _SECONDS_BETWEEN_LINES:
            self._tell(self._place())

    def _place(self) -> str:
        status = self._status
        assert status is not None
        parts = [
            f"step {status.total_steps:,} of {status.spec.total_steps:,}",
            status.stage_name(),
            status.speed(),
            status.time_left(status.spec.total_steps - status.total_steps),
            status.evaluation(),
        ]
        return " | ".join(part for part in parts if part)

    def on_activity(self, what: str) -> None:
        """Print once in every stage that it compiles."""
        status = self._status
        if status is not None and what == "compiling" and status.stage != self._compiling_told_in:
            self._compiling_told_in = status.stage
            self._tell(f"step {status.total_steps:,} of {status.spec.total_steps:,} | compiling")

    def on_compiled(self, seconds: float) -> None:
        """Count the time in the time left."""
        if self._status is not None:
            self._status.compiled(seconds)

    def on_evaluation_start(self, total_steps: int) -> None:
        """Remember which step is being evaluated."""
        assert self._status is not None
        self._status.evaluating_step = total_steps

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Print the progress and the success of every task."""
        assert self._status is not None
        self._status.evaluated(records)
        pairs = zip(self._status.labels, self._status.means(), strict=True)
        success = ", ".join(f"{label} {mean}" for label, mean in pairs)
        measured = self._status.measured()
        self._tell(f"{self._place()} | {measured} at step {total_steps:,}: {success}")

    def on_failure(self, name: str, step: int, reason: str) -> None:
        """Print which run failed."""
        assert self._status is not None
        self._status.failed(name)
        self._tell(failure_text(name, step, reason, len(self._status.spec.runs)))

    def on_health(self, name: str, step: int, warning: str) -> None:
        """Print what is wrong with the run."""
        self._tell(health_text(name, step, warning))

    def on_message(self, message: str) -> None:
        """Print the message."""
        self._tell(message)


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
