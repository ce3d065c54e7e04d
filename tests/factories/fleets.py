"""One small fleet for all tests, so that its learner is compiled once."""

import contextlib
import subprocess
from pathlib import Path
from typing import Any

from recall.config.resolve import resolve
from recall.config.spec import FleetSpec, Sequences
from recall.config.stored import spec_from
from recall.runs.description import read_description
from recall.runs.store import Store
from recall.training.callbacks import Callback
from recall.training.trainer import Trainer
from tests.factories.processes import recall_process

SEQUENCE = "point-rich,point-poor"
CHANGES: dict[str, Any] = {
    "hidden": (32, 32),
    "head_layers": 1,
    "batch_size": 16,
    "old_batch_size": 16,
    "updates_per_burst": 5,
    "steps_per_task": 300,
    "update_after": 100,
    "random_steps": 100,
    "evaluate_every": 150,
    "evaluation_episodes": 2,
    "record_every": 100,
    "workers": 1,
    "checkpoint_minutes": 0.003,
}
RECORDS = ("evaluations.jsonl", "training.jsonl", "outcome.json")


def small_spec(
    method: str = "recall", sequence: Sequences = SEQUENCE, seeds=(0, 1), **changes: Any
) -> FleetSpec:
    return resolve(method, sequence, seeds, changes=CHANGES | changes)


def start(spec: FleetSpec, folder: Path, callback: Callback | None = None) -> Trainer:
    store = Store.create(folder, spec.describe())
    return Trainer(spec, folder, store, callback or Callback())


def go_on(folder: Path, callback: Callback | None = None) -> tuple[Trainer, list[str]]:
    trainer = Trainer(
        spec_from(read_description(folder)), folder, Store(folder), callback or Callback()
    )
    return trainer, trainer.restore()


def run(trainer: Trainer) -> None:
    try:
        trainer.run()
    finally:
        trainer.close()


def left_by(folder: Path) -> dict[str, bytes]:
    """The records and the policies that a fleet leaves, byte for byte."""
    files = [folder / name for name in RECORDS] + sorted(folder.glob("policies/*/*"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def rows_in(folder: Path) -> int:
    """Bytes of transitions of a fleet or of a study's: grows with every chunk."""
    size = 0
    with contextlib.suppress(OSError):  # they are removed when a fleet ends
        for path in (*folder.glob("replay/task-*.rows"), *folder.glob("*/replay/task-*.rows")):
            size += path.stat().st_size
    return size


class CrashError(Exception):
    pass


class CrashAt(Callback):
    """Ends training without any warning when it is told something for the n-th time."""

    def __init__(self, count: int):
        self.count = count

    def _tick(self, *told: Any) -> None:
        self.count -= 1
        if self.count == 0:
            raise CrashError

    on_steps = on_evaluation_start = on_evaluation = on_training = on_task_end = _tick

    def on_activity(self, what: str) -> None:
        if not what.startswith("waiting"):  # whether it waits is a matter of speed
            self._tick()


def options(**changes: Any) -> list[str]:
    """The small fleet's settings on the command line."""
    found = []
    for name, value in (CHANGES | changes).items():
        values = value if isinstance(value, tuple) else (value,)
        found += [f"--{name.replace('_', '-')}", *map(str, values)]
    return found


def train_process(folder: Path, **changes: Any) -> subprocess.Popen:
    return recall_process(
        *("train", "--sequence", SEQUENCE, "--seeds", "0", "1", "--out", str(folder)),
        *options(**changes),
    )
