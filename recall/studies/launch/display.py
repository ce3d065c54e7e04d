"""Progress of all fleets in one view: live on a terminal, plain lines elsewhere."""

import datetime
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from recall.files.streams import is_terminal
from recall.studies.launch.jobs import Event, Job
from recall.training.callbacks.rate import Rate

_WINDOW_SECONDS = 120.0
_SECONDS_BETWEEN_LINES = 30.0
_ROWS_SHOWN = 16
_BAR_WIDTH = 24
# In order of interest, for when there is no room for all fleets.
_STATES = ("running", "failed", "starting", "waiting", "finished")


@dataclass
class Row:
    """The progress of one fleet, in plain numbers."""

    name: str
    runs: int
    total_steps: int  # of each run
    steps: int = 0
    state: str = "waiting"
    activity: str = ""
    success: float | None = None


class Display:
    """Base class of all displays. It updates the rows and shows nothing, as `--quiet` needs."""

    def __init__(self, jobs: Sequence[Job], finished: int = 0):
        """Start the rows of the jobs; `finished` is the number of fleets that finished before."""
        specs = {job.name: job.spec for job in jobs}
        self.rows = {
            name: Row(name, len(spec.runs), spec.total_steps) for name, spec in specs.items()
        }
        self.finished_before = finished
        self._rate = Rate(_WINDOW_SECONDS)
        self._gained = 0  # transitions since this view began

    def take(self, event: Event) -> None:
        """Update the row of a fleet after an event."""
        row = self.rows[event.job]
        if event.kind in ("started", "steps"):
            if event.kind == "steps":
                self._gain((event.steps - row.steps) * row.runs)
            row.steps, row.state, row.activity = event.steps, "running", ""
        elif event.kind == "activity":
            row.activity = event.text
        elif event.kind == "evaluated":
            row.success = event.value
        elif event.kind == "message":
            self.message(event.job, event.text)
        elif event.kind == "finished":
            row.steps, row.state = row.total_steps, "finished"
        else:
            row.state = "waiting"

    def _gain(self, transitions: int) -> None:
        self._gained += max(0, transitions)
        self._rate.add(self._gained)

    def give_up(self, name: str, reason: str) -> None:
        """Mark a fleet that has failed too often as failed."""
        self.rows[name].state = "failed"
        self.message(name, f"given up: {reason}")

    def message(self, name: str, text: str) -> None:
        """Show a message about a fleet to the user."""

    def refresh(self) -> None:
        """Update the display; called about twice a second."""

    def close(self) -> None:
        """Close the display; no more events follow."""

    # Numbers that all views show.

    def transitions(self) -> tuple[int, int]:
        """Return the collected and the total transitions of all fleets that have not failed."""
        rows = [row for row in self.rows.values() if row.state != "failed"]
        done = sum(row.steps * row.runs for row in rows)
        return done, sum(row.total_steps * row.runs for row in rows)

    def transitions_per_second(self) -> float:
        """Return the speed of all fleets together over the last two minutes."""
        return self._rate.per_second

    def summary(self) -> str:
        """Return one line about all fleets."""
        states = [row.state for row in self.rows.values()]
        finished = self.finished_before + states.count("finished")
        done, total = self.transitions()
        parts = [
            f"{finished} of {self.finished_before + len(states)} fleets",
            f"{states.count('running')} running",
            f"{done:,} of {total:,} transitions",
        ]
        if failed := states.count("failed"):
            parts.insert(1, f"{failed} failed")
        if rate := self.transitions_per_second():
            left = datetime.timedelta(seconds=round((total - done) / rate))
            parts += [f"{rate:,.0f}/s", f"{left} left"]
        return " | ".join(parts)


class Lines(Display):
    """Prints lines to standard error: the events of each fleet, and regular summaries of all."""

    def __init__(self, jobs: Sequence[Job], finished: int = 0, file: TextIO | None = None):
        super().__init__(jobs, finished)
        self._file = file or sys.stderr
        self._told_at = time.monotonic()

    def _tell(self, line: str) -> None:
        print(line, file=self._file, flush=True)

    def take(self, event: Event) -> None:
        """Print starts and ends of fleets."""
        super().take(event)
        row = self.rows[event.job]
        if event.kind == "started":
            where = f", from step {event.steps:,}" if event.steps else ""
            self._tell(f"{row.name}: {row.runs} x {row.total_steps:,} steps{where}")
        elif event.kind in ("finished", "stopped"):
            self._tell(f"{row.name}: {event.kind}")

    def message(self, name: str, text: str) -> None:
        """Print the message."""
        self._tell(f"{name}: {text}" if name else text)

    def refresh(self) -> None:
        """Print the summary line about twice a minute."""
        if time.monotonic() - self._told_at > _SECONDS_BETWEEN_LINES:
            self._told_at = time.monotonic()
            self._tell(self.summary())


class LiveDisplay(Display):
    """A live table that is redrawn in place, with messages printed above it."""

    def __init__(self, jobs: Sequence[Job], finished: int = 0, console: Console | None = None):
        super().__init__(jobs, finished)
        self._console = console or Console(stderr=True)
        self._live = Live(console=self._console, get_renderable=self.view, refresh_per_second=4)
        self._live.start()

    def message(self, name: str, text: str) -> None:
        """Print the message."""
        self._console.print(Text(f"{name}: {text}" if name else text, style="yellow"))

    def close(self) -> None:
        """Stop updating; the last view stays on the screen."""
        self._live.stop()

    def view(self) -> Group:
        """Return the view to draw."""
        table = Table.grid(padding=(0, 2))
        rows = sorted(self.rows.values(), key=lambda row: _STATES.index(row.state))
        for row in rows[:_ROWS_SHOWN]:
            table.add_row(*_cells(row))
        rest = len(rows) - _ROWS_SHOWN
        more = [Text(f"and {rest} more", style="dim")] if rest > 0 else []
        return Group(Text(self.summary(), style="bold"), table, *more)


def _cells(row: Row) -> Iterator[Text | ProgressBar | str]:
    styles = {"failed": "red", "finished": "green", "running": "bold"}
    yield Text(row.name, style=styles.get(row.state, "dim"))
    yield f"{row.runs} run{'s' if row.runs > 1 else ''}"
    yield ProgressBar(row.total_steps, row.steps, width=_BAR_WIDTH)
    yield f"{row.steps:,} of {row.total_steps:,}"
    yield row.activity or row.state
    yield "" if row.success is None else f"success {row.success:.0%}"


def on_screen(jobs: Sequence[Job], finished: int = 0, quiet: bool = False) -> Display:
    """Return a live table on a terminal, plain lines elsewhere, or no output if `quiet`."""
    if quiet:
        return Display(jobs, finished)
    console = Console(stderr=True)
    if is_terminal(console):
        return LiveDisplay(jobs, finished, console)
    return Lines(jobs, finished)
