"""Jobs, the events that report on them, and the interface of launchers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from recall.config.spec import FleetSpec
from recall.config.stored import spec_from

Kind = Literal[
    "started",  # training started at step `steps`
    "steps",  # training has reached step `steps`
    "activity",  # something slow other than training began: `text`
    "evaluated",  # the mean success over runs and tasks is `value`
    "message",  # message for the user: `text`
    # The ways in which a process ends:
    "finished",
    "stopped",  # on request; everything is saved
    "failed",  # for the reason `text`
    "lost",  # its machine was lost; the fleet itself did not fail
]
ENDS = ("finished", "stopped", "failed", "lost")


@dataclass(frozen=True)
class Job:
    """A fleet to train in a folder, as plain data that can be sent to other processes."""

    name: str
    folder: str
    description: dict[str, Any]
    """The result of `FleetSpec.describe()`."""
    plugins: Sequence[str] = ()
    """Modules and files of plug-ins, loaded before anything else."""
    command: Sequence[str] = ()
    """The command that the user called, for the records."""

    @property
    def spec(self) -> FleetSpec:
        """Return the spec of the fleet."""
        return spec_from(self.description)


@dataclass(frozen=True)
class Event:
    """Something that happened to a job."""

    job: str
    kind: Kind
    steps: int = 0
    value: float = 0.0
    text: str = ""


Tell = Callable[[Event], None]


class Launcher(Protocol):
    """Interface of launchers, which start jobs, report their events and end them."""

    slots: int
    """Number of jobs that it accepts at once; other jobs wait in the scheduler."""

    def start(self, job: Job) -> None:
        """Start or resume a job. After `stop`, it is asked to save and exit at once."""

    def events(self, seconds: float) -> Iterable[Event]:
        """Return the events since the last call; wait up to `seconds` for the first one."""

    def stop(self) -> None:
        """Ask all running jobs to save and exit."""

    def kill(self) -> None:
        """End all running jobs at once."""

    def close(self) -> None:
        """Release all resources; no job is running any more."""
