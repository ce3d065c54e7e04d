"""Logging to Weights & Biases or trackio, with one of their runs for each run of a fleet."""

import contextvars
import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from recall.config.spec import FleetSpec
from recall.errors import BadValueError, how_to_install
from recall.runs.evaluations import FIELDS, EvaluationRecord
from recall.training.callbacks.callback import Callback, Record
from recall.training.callbacks.display import health_text
from recall.training.callbacks.tensorboard_callback import training_scalars
from recall.worlds.registry import task_label


class WandbCallback(Callback):
    """Logs the records to a W&B project; a resumed fleet continues the same W&B runs."""

    package: ClassVar[str] = "wandb"

    def __init__(self, project: str):
        if importlib.util.find_spec(self.package) is None:
            raise BadValueError(
                f"project {project!r}: {self.package} is not installed; "
                f"{how_to_install(self.package)}"
            )
        self._project = project
        self._runs: list[Any] = []
        self._tasks: list[list[str]] = []
        self._names: list[str] = []

    def _open(self, folder: Path, name: str, config: dict[str, Any], resumed: bool) -> Any:
        """Return the tracker's run for the run `name` of the fleet in `folder`."""
        import wandb

        return wandb.init(
            project=self._project,
            group=folder.name,
            name=name,
            id=_identity(folder, name),
            resume="allow",
            config=config,
            dir=str(folder),
            reinit="create_new",
        )

    def _log(self, run: int, step: int, values: Mapping[str, Any]) -> None:
        # Evaluations arrive late, and W&B drops what lies before its own last step.
        self._runs[run].log({**values, "step": step})

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Open a run of the tracker for each run."""
        self._tasks = [[task_label(task) for task in run.tasks] for run in spec.runs]
        self._names = [run.name for run in spec.runs]
        self._runs = [
            self._open(folder, run.name, spec.alone(run).describe(), total_steps > 0)
            for run in spec.runs
        ]

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Log the success and the return of every task."""
        for record in records:
            task = f"{record['position']}-{record['task']}"
            values = {f"{record['mode']}_{name}/{task}": record[name] for name in FIELDS}
            self._log(record["run"], total_steps, values)

    def on_training(self, records: Sequence[Record]) -> None:
        """Log all numbers of the training records."""
        for record in records:
            values = training_scalars(record, self._tasks[record["run"]])
            self._log(record["run"], record["step"], dict(values))

    def on_health(self, name: str, step: int, warning: str) -> None:
        """Send an alert. W&B drops a second alert with the same title within a minute."""
        run = self._runs[self._names.index(name)]
        run.alert(title=warning, text=health_text(name, step, warning))

    def close(self) -> None:
        """Finish the tracker's runs."""
        for run in self._runs:
            run.finish()
        self._runs = []


class TrackioCallback(WandbCallback):
    """Logs the records to a trackio project; a resumed fleet continues the same trackio runs."""

    package: ClassVar[str] = "trackio"

    def _open(self, folder: Path, name: str, config: dict[str, Any], resumed: bool) -> Any:
        import trackio

        # In a context of its own, since trackio ends the run that it finds open in the current one.
        return contextvars.copy_context().run(
            trackio.init,
            project=self._project,
            group=folder.name,
            name=f"{folder.name}/{name}",
            config=config,
            resume="allow" if resumed else "never",
            embed=False,
        )

    def _log(self, run: int, step: int, values: Mapping[str, Any]) -> None:
        self._runs[run].log(dict(values), step=step)


def _identity(folder: Path, run: str) -> str:
    """Return an id that is unique to the run and survives resuming; W&B allows few characters."""
    return hashlib.sha256(f"{folder.resolve()}/{run}".encode()).hexdigest()[:16]
