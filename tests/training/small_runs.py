"""One small fleet for all tests here, so that its learner is compiled once."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recall.callbacks import Callback
from recall.config.resolve import choose
from recall.config.spec import FleetSpec, Sequences, make_spec, spec_from
from recall.results.store import Store, read_description
from recall.settings import Settings
from recall.training.trainer import Trainer

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
    "scoring_episodes": 2,
    "record_every": 100,
    "workers": 2,
    "checkpoint_minutes": 0.003,
}
RECORDS = ("evaluations.jsonl", "training.jsonl", "outcome.json")


def small_spec(
    method: str = "recall", sequence: Sequences = SEQUENCE, seeds=(0, 1), **changes: Any
) -> FleetSpec:
    chosen, settings = choose(method, Settings(), "default", CHANGES, changes)
    return make_spec(chosen, sequence, seeds, settings)


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


class CrashError(Exception):
    pass


class CrashAt(Callback):
    """Ends training without any warning when it is told something for the n-th time."""

    def __init__(self, count: int):
        self.count = count

    def _tick(self) -> None:
        self.count -= 1
        if self.count == 0:
            raise CrashError

    def on_steps(self, total_steps: int) -> None:
        self._tick()

    def on_activity(self, what: str) -> None:
        if not what.startswith("waiting"):  # whether it waits is a matter of speed
            self._tick()

    def on_evaluation_start(self, total_steps: int) -> None:
        self._tick()

    def on_evaluation(self, total_steps: int, records: Any) -> None:
        self._tick()

    def on_training(self, records: Any) -> None:
        self._tick()

    def on_task_end(self, task: int) -> None:
        self._tick()


def options(**changes: Any) -> list[str]:
    """The small fleet's settings on the command line."""
    groups = {"hidden": "network.", "head_layers": "network."}
    found = []
    for name, value in (CHANGES | changes).items():
        values = value if isinstance(value, tuple) else (value,)
        flag = f"--{groups.get(name, '')}{name.replace('_', '-')}"
        found += [flag, *map(str, values)]
    return found


def recall_process(*arguments: str, **keywords: Any) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "recall", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **keywords,
    )


def train_process(folder: Path, **changes: Any) -> subprocess.Popen:
    return recall_process(
        *("train", "--sequence", SEQUENCE, "--seeds", "0", "1", "--out", str(folder)),
        *options(**changes),
    )


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 90.0) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s in vain for {what}")


def children_of(pid: int) -> list[int]:
    """The processes started by `pid`, wherever their session is."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
