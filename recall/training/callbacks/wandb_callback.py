"""Logging to Weights & Biases (the extra `wandb`), with one W&B run for each run of a fleet."""

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec
from recall.errors import BadValueError, how_to_install
from recall.runs.evaluations import FIELDS, EvaluationRecord
from recall.training.callbacks.callback import Callback, Record
from recall.training.callbacks.display import health_text
from recall.training.callbacks.tensorboard_callback import training_scalars
from recall.worlds.registry import task_label


class WeightsAndBiases(Callback):
    """Logs the records to a W&B project; a resumed fleet continues the same W&B runs."""

    def __init__(self, project: str):
        if importlib.util.find_spec("wandb") is None:
            raise BadValueError(
                f"--wandb {project}: Weights & Biases is not installed; {how_to_install('wandb')}"
            )
        self._project = project
        self._runs: list[Any] = []
        self._tasks: list[list[str]] = []
        self._names: list[str] = []

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Open a W&B run for each run."""
        import wandb

        self._tasks = [[task_label(task) for task in run.tasks] for run in spec.runs]
        self._names = [run.name for run in spec.runs]
        self._runs = [
            wandb.init(
                project=self._project,
                group=folder.name,
                name=run.name,
                id=_identity(folder, run.name),
                resume="allow",
                config=spec.describe(),
                dir=str(folder),
                reinit="create_new",
            )
            for run in spec.runs
        ]

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Log the success and the return of every task."""
        for record in records:
            task = f"{record['position']}-{record['task']}"
            values = {f"{record['mode']}_{name}/{task}": record[name] for name in FIELDS}
            self._runs[record["run"]].log(values | {"step": total_steps})

    def on_training(self, records: Sequence[Record]) -> None:
        """Log all numbers of the training records."""
        for record in records:
            tasks = self._tasks[record["run"]]
            values = dict(training_scalars(record, tasks))
            self._runs[record["run"]].log(values | {"step": record["step"]})

    def on_health(self, name: str, step: int, warning: str) -> None:
        """Send an alert. W&B drops a second alert with the same title within a minute."""
        run = self._runs[self._names.index(name)]
        run.alert(title=warning, text=health_text(name, step, warning))

    def close(self) -> None:
        """Finish the W&B runs."""
        for run in self._runs:
            run.finish()
        self._runs = []


def _identity(folder: Path, run: str) -> str:
    """Return an id that is unique to the run and survives resuming; W&B allows few characters."""
    return hashlib.sha256(f"{folder.resolve()}/{run}".encode()).hexdigest()[:16]
