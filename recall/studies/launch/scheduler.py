"""The scheduler, which starts jobs as places become free and retries those that fail.

Several launchers may have the same jobs: each holds locks for those that it has begun.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from recall.files.fleet_layout import status
from recall.runs.fleet_folder import FolderHeldError, hold
from recall.studies.launch.display import Display
from recall.studies.launch.jobs import ENDS, Event, Job, Launcher
from recall.training.signals import Stop, stopping

_SECONDS_BETWEEN_LOOKS = 0.5


class Scheduler:
    """Runs a list of jobs with a launcher; `failed` says why jobs ended."""

    def __init__(
        self,
        jobs: Sequence[Job],
        launcher: Launcher,
        display: Display,
        retries: int,
        on_end: Callable[[str, float, str | None], None],
        locks: Path,
    ):
        """Keep the jobs' locks in the folder `locks`.

        Whenever an attempt at a job has ended, `on_end` receives its name, how many seconds it took
        and, if it is given up, why.
        """
        self._on_end, self._locks = on_end, locks
        self._waiting = list(jobs)
        self._held: dict[str, contextlib.ExitStack] = {}
        self._running: dict[str, Job] = {}
        self._since: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._launcher, self._display, self._retries = launcher, display, retries
        self.failed: dict[str, str] = {}

    def run(self) -> Stop:
        """Run until all jobs have ended, or until a signal came and the running jobs have saved."""
        with stopping(self._ask_to_stop, self._launcher.kill) as stop:
            self._fill(stop)
            while self._running:
                for event in self._launcher.events(_SECONDS_BETWEEN_LOOKS):
                    self._take(event)
                self._fill(stop)
                self._display.refresh()
        for job in self._waiting:
            self._release(job)
        return stop

    def _ask_to_stop(self) -> None:
        self._display.message("", "stopping: fleets save first; a second signal exits at once")
        self._launcher.stop()

    def _fill(self, stop: Stop) -> None:
        """Start jobs while there are places and no signal came."""
        for job in list(self._waiting):
            if len(self._running) >= self._launcher.slots or stop.signal_number is not None:
                return
            if not self._hold(job):
                continue
            self._waiting.remove(job)
            if status(Path(job.folder)).is_over:  # another launcher has trained it meanwhile
                self._display.take(Event(job.name, "finished"))
                self._release(job)
                continue
            self._running[job.name] = job
            self._since[job.name] = time.monotonic()
            self._launcher.start(job)

    def _hold(self, job: Job) -> bool:
        """Return True if this launcher holds the job's lock, or can take it now."""
        if job.name not in self._held:
            lock = contextlib.ExitStack()
            try:
                lock.enter_context(hold(self._locks, f"{job.name}.lock"))
            except FolderHeldError:
                return False
            self._held[job.name] = lock
        return True

    def _release(self, job: Job) -> None:
        if job.name in self._held:
            self._held.pop(job.name).close()

    def _take(self, event: Event) -> None:
        self._display.take(event)
        if event.kind == "started":  # until now it waited for a place on a cluster
            self._since[event.job] = time.monotonic()
        if event.kind in ENDS and event.job in self._running:
            self._end(self._running.pop(event.job), event)

    def _end(self, job: Job, event: Event) -> None:
        spent = time.monotonic() - self._since.pop(job.name)
        if event.kind == "lost":
            self._display.message(job.name, f"{event.text}; it continues elsewhere")
            self._waiting.insert(0, job)
        elif event.kind == "failed":
            self._retry(job, event.text)
        if job not in self._waiting:
            self._release(job)
        self._on_end(job.name, spent, self.failed.get(job.name))

    def _retry(self, job: Job, reason: str) -> None:
        failures = self._failures[job.name] = self._failures.get(job.name, 0) + 1
        if failures > self._retries:
            self.failed[job.name] = reason
            self._display.give_up(job.name, reason)
            return
        self._display.message(
            job.name, f"{reason}; retrying from its last checkpoint ({failures} of {self._retries})"
        )
        self._waiting.append(job)
