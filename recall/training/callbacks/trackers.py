"""Logging to Weights & Biases or trackio, with one of their runs for each run of a fleet."""

import contextvars
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from recall.config.spec import FleetSpec, RunSpec
from recall.errors import required
from recall.training.callbacks.display import health_text
from recall.training.callbacks.tensorboard_callback import Logger


class WandbCallback(Logger):
    """Logs the records to a W&B project; a resumed fleet continues the same W&B runs."""

    package: ClassVar[str] = "wandb"

    def __init__(self, project: str):
        required(self.package, f"project {project!r}")
        super().__init__()
        self._project = project

    def _open(self, spec: FleetSpec, run: RunSpec, folder: Path, total_steps: int) -> Any:
        """Return the tracker's run for a run of the fleet in `folder`."""
        import wandb

        return wandb.init(
            project=self._project,
            group=folder.name,
            name=run.name,
            id=_identity(folder, run.name),
            resume="allow",
            config=spec.alone(run).describe(),
            dir=str(folder),
            reinit="create_new",
        )

    def _log(self, run: int, step: int, values: Mapping[str, Any]) -> None:
        # Evaluations arrive late, and W&B drops what lies before its own last step.
        self._runs[run].log({**values, "step": step})

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

    def _open(self, spec: FleetSpec, run: RunSpec, folder: Path, total_steps: int) -> Any:
        import trackio

        # In a context of its own, since trackio ends the run that it finds open in the current one.
        return contextvars.copy_context().run(
            trackio.init,
            project=self._project,
            group=folder.name,
            name=f"{folder.name}/{run.name}",
            config=spec.alone(run).describe(),
            resume="allow" if total_steps else "never",
            embed=False,
        )

    def _log(self, run: int, step: int, values: Mapping[str, Any]) -> None:
        self._runs[run].log(dict(values), step=step)


def _identity(folder: Path, run: str) -> str:
    """Return an id that is unique to the run and survives resuming; W&B allows few characters."""
    return hashlib.sha256(f"{folder.resolve()}/{run}".encode()).hexdigest()[:16]
