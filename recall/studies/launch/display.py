"""Progress of all fleets in one view: live on a terminal, plain lines elsewhere."""

import datetime
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from recall.files.streams import is_terminal
from recall.runs.wording import counted
from recall.studies.launch.jobs import Event, Job

_WINDOW_SECONDS = 120.0
_SECONDS_BETWEEN_LINES = 30.0


class Display:
    """A bar for each fleet that trains and one line about all of them; `quiet` shows nothing.

    On a terminal, the bars are redrawn in place, with messages above them. Elsewhere, the starts
    and ends of fleets are printed, and the line about all of them twice a minute.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        finished: int = 0,
        quiet: bool = False,
        console: Console | None = None,
    ):
        """Show the jobs; `finished` is the number of fleets that finished before."""
        self._console = console or Console(stderr=True)
        self._quiet, self._live = quiet, not quiet and is_terminal(self._console)
        self._finished_before = finished
        specs = {job.name: job.spec for job in jobs}
        self._runs = {name: len(spec.runs) for name, spec in specs.items()}
        self._states = dict.fromkeys(specs, "waiting")
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(24),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
            TextColumn("{task.fields[doing]} {task.fields[success]}"),
            console=self._console,
            speed_estimate_period=_WINDOW_SECONDS,
            disable=not self._live,
        )
        total = sum(self._runs[name] * spec.total_steps for name, spec in specs.items())
        self._all = self._bars.add_task("", total=total, doing="transitions", success="")
        self._tasks = {name: self._bar(name, spec.total_steps) for name, spec in specs.items()}
        self._told_at = time.monotonic()
        self._bars.start()

    def _bar(self, name: str, steps: int) -> TaskID:
        title = f"{name}, {counted(self._runs[name], 'run')}"
        return self._bars.add_task(title, total=steps, visible=False, doing="", success="")

    def take(self, event: Event) -> None:
        """Update the view after an event."""
        name, task = event.job, self._tasks[event.job]
        if event.kind in ("started", "steps"):
            self._states[name] = "running"
            self._bars.update(task, completed=event.steps, visible=True, doing="")
            if event.kind == "started":
                runs, total = counted(self._runs[name], "run"), self._bars.tasks[task].total
                where = f", from step {event.steps:,}" if event.steps else ""
                self._line(f"{name}: {runs} of {total:,.0f} steps{where}")
        elif event.kind == "activity":
            self._bars.update(task, doing=event.text)
        elif event.kind == "evaluated":
            self._bars.update(task, success=f"success {event.value:.0%}")
        elif event.kind == "message":
            self.message(name, event.text)
        else:  # an end
            finished = event.kind == "finished"
            self._states[name] = "finished" if finished else "waiting"
            self._bars.update(task, visible=False)
            if finished:
                self._bars.update(task, completed=self._bars.tasks[task].total)
                self._line(f"{name}: finished")
        self._sum_up(trained=event.kind in ("steps", "finished"))

    def give_up(self, name: str, reason: str) -> None:
        """Show that a fleet has failed too often."""
        self._states[name] = "failed"
        self.message(name, f"given up: {reason}")
        self._sum_up(trained=False)

    def _sum_up(self, trained: bool) -> None:
        """Update the transitions of all fleets that have not failed."""
        done, total = 0.0, 0.0
        for name, number in self._tasks.items():
            if self._states[name] != "failed":
                done += self._runs[name] * self._bars.tasks[number].completed
                total += self._runs[name] * (self._bars.tasks[number].total or 0.0)
        if not trained:  # steps of earlier launches do not count for the speed
            self._bars.tasks[self._all].completed = done
        self._bars.update(self._all, completed=done, total=total, description=self.summary())

    def summary(self) -> str:
        """Return one line about all fleets."""
        states = list(self._states.values())
        fleets = self._finished_before + len(states)
        parts = [f"{self._finished_before + states.count('finished')} of {fleets} fleets"]
        if failed := states.count("failed"):
            parts.append(f"{failed} failed")
        parts.append(f"{states.count('running')} running")
        task = self._bars.tasks[self._all]
        if task.speed and task.time_remaining is not None:
            left = datetime.timedelta(seconds=round(task.time_remaining))
            parts += [f"{task.speed:,.0f}/s", f"{left} left"]
        return ", ".join(parts)

    def message(self, name: str, text: str) -> None:
        """Show a message about a fleet, or about all of them if `name` is empty."""
        self._print(f"{name}: {text}" if name else text)

    def _line(self, text: str) -> None:
        """Print what a live view shows by itself."""
        if not self._live:
            self._print(text)

    def _print(self, text: str) -> None:
        if not self._quiet:
            style = "yellow" if self._live else None
            self._console.print(Text(text), style=style, soft_wrap=True)

    def refresh(self) -> None:
        """Print the line about all fleets about twice a minute; called about twice a second."""
        if time.monotonic() - self._told_at > _SECONDS_BETWEEN_LINES:
            self._told_at = time.monotonic()
            task = self._bars.tasks[self._all]
            self._line(f"{self.summary()}, {task.completed:,.0f} of {task.total:,.0f} transitions")

    def close(self) -> None:
        """Stop updating; the last view stays on the screen."""
        self._bars.stop()
