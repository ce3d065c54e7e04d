"""The scheduler, which starts jobs as places become free and retries those that fail."""

import time
from collections import deque
from collections.abc import Callable, Sequence

from recall.studies.launch.display import Display
from recall.studies.launch.jobs import ENDS, Event, Job, Launcher, Outcome
from recall.training.signals import Stop, stopping

_SECONDS_BETWEEN_LOOKS = 0.5


class Scheduler:
    """Runs a list of jobs with a launcher and keeps their outcome."""

    def __init__(
        self,
        jobs: Sequence[Job],
        launcher: Launcher,
        display: Display,
        retries: int,
        on_end: Callable[[Outcome], None],
    ):
        """`on_end` receives the outcome so far whenever an attempt at a job has ended."""
        self._on_end = on_end
        self._waiting = deque(jobs)
        self._running: dict[str, Job] = {}
        self._since: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._launcher, self._display, self._retries = launcher, display, retries
        self.outcome = Outcome()

    def run(self) -> Stop:
        """Run until all jobs have ended, or until a signal came and the running jobs have saved."""
        with stopping(self._ask_to_stop, self._launcher.kill) as stop:
            while self._running or (self._waiting and stop.signal_number is None):
                self._fill(stop)
                for event in self._launcher.events(_SECONDS_BETWEEN_LOOKS):
                    self._take(event)
                self._display.refresh()
        self.outcome.left += [job.name for job in self._waiting]
        return stop

    def _ask_to_stop(self) -> None:
        self._display.message("", "stopping: fleets save first; a second signal exits at once")
        self._launcher.stop()

    def _fill(self, stop: Stop) -> None:
        """Start jobs while there are places and no signal came."""
        while (
            self._waiting
            and len(self._running) < self._launcher.slots
            and stop.signal_number is None
        ):
            job = self._waiting.popleft()
            self._running[job.name] = job
            self._since[job.name] = time.monotonic()
            attempts = self.outcome.attempts
            attempts[job.name] = attempts.get(job.name, 0) + 1
            self._launcher.start(job)

    def _take(self, event: Event) -> None:
        self._display.take(event)
        if event.kind == "started":  # until now it waited for a place on a cluster
            self._since[event.job] = time.monotonic()
        if event.kind in ENDS and event.job in self._running:
            self._end(self._running.pop(event.job), event)

    def _end(self, job: Job, event: Event) -> None:
        spent = time.monotonic() - self._since.pop(job.name)
        self.outcome.seconds[job.name] = self.outcome.seconds.get(job.name, 0.0) + spent
        if event.kind == "finished":
            self.outcome.finished.append(job.name)
        elif event.kind == "stopped":
            self.outcome.left.append(job.name)
        elif event.kind == "lost":
            self._display.message(job.name, f"{event.text}; it continues elsewhere")
            self._waiting.appendleft(job)
        else:
            self._retry(job, event.text)
        self._on_end(self.outcome)

    def _retry(self, job: Job, reason: str) -> None:
        failures = self._failures[job.name] = self._failures.get(job.name, 0) + 1
        if failures > self._retries:
            self.outcome.failed[job.name] = reason
            self._display.give_up(job.name, reason)
            return
        self._display.message(
            job.name, f"{reason}; retrying from its last checkpoint ({failures} of {self._retries})"
        )
        self._waiting.append(job)
