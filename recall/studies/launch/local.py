"""Launching of fleets on this machine, each in its own process, whose crash affects no other.

Each process has its own session, so Ctrl-C reaches only the launcher, which passes it on once.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recall.plugins.python_process import python_command
from recall.studies.launch.jobs import ENDS, Event, Job, Kind
from recall.worlds.workers import how_it_ended

_PATIENCE_SECONDS = 5.0
_FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION"
_SHARE_OF_GPU = 0.75  # of its memory, which JAX reserves by default


class LocalLauncher:
    """Runs up to `slots` processes at once, with their output in `logs`, one file per fleet."""

    def __init__(self, logs: Path, slots: int = 1):
        self.slots = slots
        self._logs = logs
        self._events: queue.Queue[Event] = queue.Queue()
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._stopping = False

    def start(self, job: Job) -> None:
        """Start a process for the job."""
        self._logs.mkdir(parents=True, exist_ok=True)
        environment = dict(os.environ)
        if self.slots > 1:  # processes that share one GPU
            share = float(environment.get(_FRACTION, _SHARE_OF_GPU))  # the study's own
            environment[_FRACTION] = f"{share / self.slots:.4f}"
        with (self._logs / f"{job.name}.log").open("a") as log:
            process = subprocess.Popen(
                python_command("from recall.studies.launch.job_runner import main", "main()"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env=environment,
            )
        self._processes[job.name] = process
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died at once, which `_listen` reports
            process.stdin.write(json.dumps(vars(job)) + "\n")
            process.stdin.flush()
        threading.Thread(target=self._listen, args=(job.name, process), daemon=True).start()
        if self._stopping:  # since `stop` was called in another thread, perhaps without this job
            process.send_signal(signal.SIGTERM)

    def _listen(self, name: str, process: "subprocess.Popen[Any]") -> None:
        """Queue the events of a process; the event of its end always comes last."""
        end = None
        assert process.stdout is not None
        for line in process.stdout:
            try:
                event = Event(**json.loads(line))
            except (ValueError, TypeError):  # cut short, or printed by other code
                continue
            if event.kind in ENDS:
                end = event
            else:
                self._events.put(event)
        status = process.wait()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        if end is None:
            how: Kind = "stopped" if self._stopping else "failed"
            text = f"its process ended {how_it_ended(status)}{self._last_line(name)}"
            end = Event(name, how, text=text)
        self._events.put(end)

    def _last_line(self, name: str) -> str:
        log = self._logs / f"{name}.log"
        try:
            lines = log.read_text(errors="replace").strip().splitlines()
        except OSError:  # somebody removed it
            return ""
        return f" ({lines[-1].strip()}; full log: {log})" if lines else ""

    def events(self, seconds: float) -> Iterable[Event]:
        """Return all events so far; wait up to `seconds` for the first one."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._events.get(timeout=seconds))
            while True:
                found.append(self._events.get_nowait())
        return found

    def stop(self) -> None:
        """Ask every process to save and exit."""
        self._stopping = True
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End every process at once; their workers notice and end too."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        for process in list(self._processes.values()):  # another thread may add one meanwhile
            if process.poll() is None:
                process.send_signal(number)

    def close(self) -> None:
        """Wait for the processes, all of which have ended or been asked to end."""
        for process in self._processes.values():
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
