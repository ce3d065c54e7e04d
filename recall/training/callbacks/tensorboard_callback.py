"""TensorBoard events: a folder for each run, written beside the records and never read back."""

import contextlib
import os
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recall.config.spec import FleetSpec, RunSpec
from recall.files.fleet_layout import TENSORBOARD
from recall.runs.evaluations import FIELDS, EvaluationRecord
from recall.training.callbacks.callback import Callback, Record
from recall.worlds.registry import task_label

_NO_SCALARS = ("run", "step", "position", "task", "mode", "episodes")


class Logger(Callback):
    """Writes the numbers of all records to a log for each run."""

    def __init__(self) -> None:
        self._runs: list[Any] = []
        self._tasks: list[list[str]] = []
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


class TensorBoardCallback(Logger):
    """Writes TensorBoard events, which `tensorboard --logdir DIR/tensorboard` shows."""

    def _open(self, spec: FleetSpec, run: RunSpec, folder: Path, total_steps: int) -> Any:
        """Return the run's file; TensorBoard drops events that lie beyond `total_steps`."""
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
        for file in self._runs:
            file.close()


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


class _EventFile:
    """The events of one run, in TensorFlow's record format.

    It is unbuffered and without threads, so that on a full disk no pending write fails later.
    """

    def __init__(self, folder: Path, total_steps: int):
        from tensorboardX.proto.event_pb2 import SessionLog  # type: ignore[attr-defined]

        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}.{os.getpid()}"
        self._file = (folder / name).open("wb", buffering=0)
        self.append(file_version="brain.Event:2")
        start = SessionLog(status=SessionLog.START)
        # TensorBoard drops earlier files' events from this step on.
        self.append(step=total_steps + 1, session_log=start)

    def append(self, **fields: Any) -> None:
        """Add an event with these fields."""
        from tensorboardX.proto.event_pb2 import Event  # type: ignore[attr-defined]
        from tensorboardX.record_writer import masked_crc32c

        event = Event(wall_time=time.time(), **fields).SerializeToString()
        length = struct.pack("<Q", len(event))
        checks = [struct.pack("<I", masked_crc32c(part)) for part in (length, event)]
        with contextlib.suppress(OSError):
            self._file.write(length + checks[0] + event + checks[1])

    def close(self) -> None:
        self._file.close()
