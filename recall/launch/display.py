"""Where all fleets stand: one view over many processes, live on a terminal and lines elsewhere."""

import datetime
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from recall.launch.jobs import Event, Job

_WINDOW_SECONDS = 120.0
_SECONDS_BETWEEN_LINES = 30.0
_ROWS_SHOWN = 16
_BAR_WIDTH = 24
# In the order in which a person wants to see them, where there is no room for all.
_STATES = ("running", "failed", "starting", "waiting", "finished")


@dataclass
class Row:
    """One fleet, in plain numbers."""

    name: str
    runs: int
    total_steps: int  # of each run
    steps: int = 0
    state: str = "waiting"
    activity: str = ""
    success: float | None = None


class Display:
    """Keeps the rows up to date and shows nothing: `--quiet`, and the base of the others."""

    def __init__(self, jobs: Sequence[Job], finished: int = 0):
        """`finished` fleets are done already."""
        specs = {job.name: job.spec for job in jobs}
        self.rows = {
            name: Row(name, len(spec.runs), spec.total_steps) for name, spec in specs.items()
        }
        self.finished_before = finished
        self._seen: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
        self._gained = 0  # transitions since this view began

    def take(self, event: Event) -> None:
        """An event of a fleet."""
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
        now = time.monotonic()
        self._seen.append((now, self._gained))
        while now - self._seen[0][0] > _WINDOW_SECONDS and len(self._seen) > 2:
            self._seen.popleft()

    def give_up(self, name: str, reason: str) -> None:
        """A fleet has failed too often."""
        self.rows[name].state = "failed"
        self.message(name, f"given up: {reason}")

    def message(self, name: str, text: str) -> None:
        """Something a person should know of a fleet."""

    def refresh(self) -> None:
        """Called about twice a second."""

    def close(self) -> None:
        """Nothing more will come."""

    # What all views tell.

    def transitions(self) -> tuple[int, int]:
        """Of all fleets that are not given up: collected, and in all."""
        rows = [row for row in self.rows.values() if row.state != "failed"]
        done = sum(row.steps * row.runs for row in rows)
        return done, sum(row.total_steps * row.runs for row in rows)

    def transitions_per_second(self) -> float:
        """Over the last minutes, of all fleets together."""
        (first_time, first), (last_time, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_time - first_time) if last_time > first_time else 0.0

    def summary(self) -> str:
        """All fleets in one line."""
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
    """Plain lines on standard error: what happens to each fleet, and all of them now and then."""

    def __init__(self, jobs: Sequence[Job], finished: int = 0, file: TextIO | None = None):
        super().__init__(jobs, finished)
        self._file = file or sys.stderr
        self._told_at = time.monotonic()

    def _tell(self, line: str) -> None:
        print(line, file=self._file, flush=True)

    def take(self, event: Event) -> None:
        """Tell of starts and ends."""
        super().take(event)
        row = self.rows[event.job]
        if event.kind == "started":
            where = f", from step {event.steps:,}" if event.steps else ""
            self._tell(f"{row.name}: {row.runs} x {row.total_steps:,} steps{where}")
        elif event.kind in ("finished", "stopped"):
            self._tell(f"{row.name}: {event.kind}")

    def message(self, name: str, text: str) -> None:
        """Pass on."""
        self._tell(f"{name}: {text}" if name else text)

    def refresh(self) -> None:
        """All fleets in one line, about twice a minute."""
        if time.monotonic() - self._told_at > _SECONDS_BETWEEN_LINES:
            self._told_at = time.monotonic()
            self._tell(self.summary())


class LiveDisplay(Display):
    """A table that redraws itself in place; messages scroll by above it."""

    def __init__(self, jobs: Sequence[Job], finished: int = 0, console: Console | None = None):
        super().__init__(jobs, finished)
        self._console = console or Console(stderr=True)
        self._live = Live(console=self._console, get_renderable=self.view, refresh_per_second=4)
        self._live.start()

    def message(self, name: str, text: str) -> None:
        """Pass on."""
        self._console.print(Text(f"{name}: {text}" if name else text, style="yellow"))

    def close(self) -> None:
        """Leave the last picture standing."""
        self._live.stop()

    def view(self) -> Group:
        """The picture."""
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
    """A live table on a terminal, lines elsewhere, nothing if `quiet`."""
    if quiet:
        return Display(jobs, finished)
    console = Console(stderr=True)
    if console.is_terminal:
        return LiveDisplay(jobs, finished, console)
    return Lines(jobs, finished)
