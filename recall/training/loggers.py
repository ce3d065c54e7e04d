"""Callbacks that log all records to TensorBoard, Weights & Biases or trackio, and the defaults."""

import contextlib
import contextvars
import hashlib
import os
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from recall.config.spec import FleetSpec, RunSpec
from recall.errors import required
from recall.files.fleet_layout import TENSORBOARD
from recall.runs.evaluations import FIELDS, EvaluationRecord
from recall.training.callbacks import Callback, CallbackList, Record
from recall.training.display import health_text, on_screen
from recall.worlds.registry import task_label

_NO_SCALARS = ("run", "step", "position", "task", "mode", "episodes")


class Logger(Callback):
    """Writes the numbers of all records to a log for each run."""

    def __init__(self) -> None:
        self._runs: list[Any] = []
        self._names: list[str] = []

    def _open(self, spec: FleetSpec, run: RunSpec, folder: Path, total_steps: int) -> Any:
        """Return the log of a run of the fleet in `folder`."""
        raise NotImplementedError

    def _log(self, run: int, step: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve of a run."""
        raise NotImplementedError

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Open a log for each run."""
        self._tasks = [[task_label(task) for task in run.tasks] for run in spec.runs]
        self._names = [run.name for run in spec.runs]
        self._runs = [self._open(spec, run, folder, total_steps) for run in spec.runs]

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Add a point to the curve of each task, mode and number."""
        for record in records:
            task = f"{record['position']}-{record['task']}"
            values = {f"{record['mode']}_{name}/{task}": record[name] for name in FIELDS}
            self._log(record["run"], total_steps, values)

    def on_training(self, records: Sequence[Record]) -> None:
        """Add a point to the curve of each number, or of each task if the number is per task."""
        for record in records:
            values = _scalars(record, self._tasks[record["run"]])
            self._log(record["run"], record["step"], dict(values))


def _scalars(record: Record, tasks: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield the finite numbers of a training record by name; lists hold one number per task."""
    for name, value in record.items():
        if name in _NO_SCALARS or value is None:
            continue
        if not isinstance(value, list):
            yield f"training/{name}", value
            continue
        for position, item in enumerate(value):
            if isinstance(item, int | float) and item == item:  # NaN: the task has no such number
                yield f"training/{name}/{position}-{tasks[position]}", item


class TensorBoardCallback(Logger):
    """Writes TensorBoard events, which `tensorboard --logdir DIR/tensorboard` shows."""

    def _open(self, spec: FleetSpec, run: RunSpec, folder: Path, total_steps: int) -> Any:
        return _EventFile(folder / TENSORBOARD / run.name, total_steps)

    def _log(self, run: int, step: int, values: Mapping[str, float]) -> None:
        from tensorboardX.proto.summary_pb2 import Summary  # type: ignore[attr-defined]

        points = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        self._runs[run].append(step=step, summary=Summary(value=points))

    def on_health(self, name: str, step: int, warning: str) -> None:
        """Add the warning to the run's texts."""
        from tensorboardX.summary import text

        self._runs[self._names.index(name)].append(step=step, summary=text("health", warning))

    def close(self) -> None:
        """Close the files."""
        for run in self._runs:
            run.file.close()


class _EventFile:
    """The events of one run, in TensorFlow's record format.

    It is unbuffered and without threads, so that on a full disk no pending write fails later.
    """

    def __init__(self, folder: Path, total_steps: int):
        from tensorboardX.proto.event_pb2 import SessionLog  # type: ignore[attr-defined]

        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}.{os.getpid()}"
        self.file = (folder / name).open("wb", buffering=0)
        self.append(file_version="brain.Event:2")
        # TensorBoard drops earlier files' events from this step on.
        self.append(step=total_steps + 1, session_log=SessionLog(status=SessionLog.START))

    def append(self, **fields: Any) -> None:
        """Add an event with these fields."""
        from tensorboardX.proto.event_pb2 import Event  # type: ignore[attr-defined]
        from tensorboardX.record_writer import masked_crc32c

        event = Event(wall_time=time.time(), **fields).SerializeToString()
        length = struct.pack("<Q", len(event))
        checks = [struct.pack("<I", masked_crc32c(part)) for part in (length, event)]
        with contextlib.suppress(OSError):
            self.file.write(length + checks[0] + event + checks[1])


class WandbCallback(Logger):
    """Logs the records to a W&B project; a resumed fleet continues the same W&B runs."""

    package: ClassVar[str] = "wandb"

    def __init__(self, project: str):
        required(self.package, f"project {project!r}")
        super().__init__()
        self._project = project

    def _open(self, spec: FleetSpec, run: RunSpec, folder: Path, total_steps: int) -> Any:
        import wandb

        # Unique to the run, and the same after resuming; W&B allows few characters.
        identity = hashlib.sha256(f"{folder.resolve()}/{run.name}".encode()).hexdigest()[:16]
        return wandb.init(
            project=self._project,
            group=folder.name,
            name=run.name,
            id=identity,
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


def default_callbacks(
    quiet: bool = False, tensorboard: bool = True, wandb: str | None = None
) -> Callback:
    """Return callbacks for the screen, TensorBoard and, if a project is named, Weights & Biases."""
    callbacks = [on_screen(quiet)]
    if tensorboard:
        callbacks.append(TensorBoardCallback())
    if wandb is not None:
        callbacks.append(WandbCallback(wandb))
    return CallbackList(callbacks)
