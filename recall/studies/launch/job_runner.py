"""Running of one job in this process: its fleet is trained or resumed, and events are sent.

`main` reads the job from the first line of standard input and writes events to standard output, as
lines of JSON. When the input closes, the fleet saves and exits, so none outlives a killed launcher.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from recall import api
from recall.collect.pool import use_cores
from recall.config.spec import FleetSpec
from recall.errors import NoRunLeftError, RecallError
from recall.plugins import load_plugin
from recall.runs.description import tasks_without_success_flag_in
from recall.runs.evaluations import EvaluationRecord
from recall.runs.fleet_folder import FolderHeldError
from recall.studies.launch.jobs import Event, Job, Tell
from recall.training.callbacks import Callback, CallbackList
from recall.training.display import failure_text, health_text
from recall.training.loggers import TensorBoardCallback

_SECONDS_BETWEEN_STEPS = 0.5
# Time for the process of an earlier attempt to end, or for a file server to notice its end.
_PATIENCE_SECONDS = 120.0


def main() -> None:
    """Run the job on standard input."""
    job = Job(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # other output goes to the log

    def tell(event: Event) -> None:
        channel.write(json.dumps(vars(event)) + "\n")

    try:
        tell(work(job, tell))
    except Exception as error:
        traceback.print_exc()
        tell(Event(job.name, "failed", text=f"{type(error).__name__}: {error}"))


def _leave_with_parent() -> None:
    while sys.stdin.readline():
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def work(job: Job, tell: Tell, cpus: int | None = None) -> Event:
    """Train the job's fleet on `cpus` of this machine's cores (None: all); return how it ended."""
    try:
        _train(job, tell, cpus)
    except api.Stopped as stopped:
        return Event(job.name, "stopped", text=str(stopped))
    except RecallError as error:
        print(f"recall: {error}", file=sys.stderr)
        return Event(job.name, "failed", text=str(error))
    return Event(job.name, "finished")


def _train(job: Job, tell: Tell, cpus: int | None) -> None:
    use_cores(cpus)
    for plugin in job.plugins:
        load_plugin(plugin)
    callback = CallbackList([Reporter(job.name, tell), TensorBoardCallback()])
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            api.run_fleet(job.spec, Path(job.folder), callback, job.command)
            return
        except NoRunLeftError:
            return  # its failures have been reported, and another attempt would meet them again
        except FolderHeldError:
            if time.monotonic() > deadline:
                raise
            callback.on_activity("waiting for another process to release its folder")
            time.sleep(0.5)


class Reporter(Callback):
    """A callback that sends events; the rate of step events is limited."""

    def __init__(self, name: str, tell: Tell):
        self._name, self._tell = name, tell
        self._told_at, self._runs = 0.0, 0
        self._without_success_flag: tuple[str, ...] = ()  # tasks that do not report success

    def on_start(self, spec: FleetSpec, folder: Path, total_steps: int) -> None:
        """Send the step at which the fleet starts."""
        self._runs = len(spec.runs)
        self._without_success_flag = tasks_without_success_flag_in(folder)
        self._tell(Event(self._name, "started", steps=total_steps))

    def on_steps(self, total_steps: int) -> None:
        """Send the current step, at most every half second."""
        if time.monotonic() - self._told_at > _SECONDS_BETWEEN_STEPS:
            self._told_at = time.monotonic()
            self._tell(Event(self._name, "steps", steps=total_steps))

    def on_activity(self, what: str) -> None:
        """Send the activity."""
        self._tell(Event(self._name, "activity", text=what))

    def on_evaluation(self, total_steps: int, records: Sequence[EvaluationRecord]) -> None:
        """Send the mean success over runs and tasks, as far as tasks report it."""
        values = [
            record["success"]
            for record in records
            if record["mode"] == "stochastic" and record["task"] not in self._without_success_flag
        ]
        if values:
            self._tell(Event(self._name, "evaluated", value=float(np.mean(values))))

    def on_failure(self, name: str, step: int, reason: str) -> None:
        """Send a message about the failed run."""
        self.on_message(failure_text(name, step, reason, self._runs))

    def on_health(self, name: str, step: int, warning: str) -> None:
        """Send the warning as a message."""
        self.on_message(health_text(name, step, warning))

    def on_message(self, message: str) -> None:
        """Send the message."""
        self._tell(Event(self._name, "message", text=message))
