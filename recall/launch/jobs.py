"""What a launcher is given, and what it tells of it."""

import dataclasses
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from recall.config.spec import FleetSpec, spec_from

Kind = Literal[
    "started",  # at `steps`
    "steps",  # stands at `steps`
    "activity",  # `text` takes its time
    "evaluated",  # mean success over runs and tasks is `value`
    "message",  # `text`
    # The ways in which a process ends:
    "finished",
    "stopped",  # asked to; all is saved
    "failed",  # because of `text`
    "lost",  # the machine is gone, through no fault of the fleet
]
ENDS = ("finished", "stopped", "failed", "lost")


@dataclass(frozen=True)
class Job:
    """A fleet to train in a folder; plain data, so that it travels to other processes."""

    name: str
    folder: str
    description: dict[str, Any]
    """`FleetSpec.describe()`."""
    storage: str | None = None
    """The URL under which the folder is kept while the fleet works wherever it is."""
    attempt: int = 1
    """Counts up each time that it is launched; a later one wins over what an earlier one left."""

    @property
    def spec(self) -> FleetSpec:
        """The fleet."""
        return spec_from(self.description)


@dataclass(frozen=True)
class Event:
    """Something that happened to a job."""

    job: str
    kind: Kind
    steps: int = 0
    value: float = 0.0
    text: str = ""

    def to_line(self) -> str:
        """One line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_line(cls, line: str) -> "Event":
        """What `to_line` wrote."""
        return cls(**json.loads(line))


Tell = Callable[[Event], None]


class Launcher(Protocol):
    """Where jobs run. Starts them, tells what happens, ends them."""

    slots: int
    """How many jobs it takes at once; the others wait outside."""

    def start(self, job: Job) -> None:
        """Begin, or go on with, a job; a second `start` is its next attempt."""

    def events(self, seconds: float) -> Iterable[Event]:
        """What has happened since the last call; waits up to `seconds` for something."""

    def stop(self) -> None:
        """Ask all running jobs to save and leave."""

    def kill(self) -> None:
        """End all running jobs at once."""

    def close(self) -> None:
        """Release what was started; nothing runs any more."""


@dataclass
class Outcome:
    """How a list of jobs ended."""

    finished: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # name -> why
    left: list[str] = field(default_factory=list)  # stopped, or never begun
    seconds: dict[str, float] = field(default_factory=dict)  # in training, all attempts together
    attempts: dict[str, int] = field(default_factory=dict)
