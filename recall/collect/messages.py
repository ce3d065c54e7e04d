"""Messages between pools and their workers, as plain data."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from recall.collect.policy import PolicyShape
from recall.settings import ScheduleSettings, WorldSettings
from recall.worlds.registry import task_label

# Random streams are (seed, domain, ...). Random numbers depend on seed, task and step but never on
# the worker, so results do not depend on the number of workers. The streams of a run's further
# environments have the number of the environment, too.
ACTIONS, TRAINING, EVALUATION, OTHER_EPISODES = range(4)


class RunTasks(NamedTuple):
    """Seed of a run and the tasks of its sequence: all that a worker needs to know about it."""

    seed: int
    tasks: tuple[Any, ...]  # names, or callables that make a Gymnasium environment


@dataclass(frozen=True)
class Setup:
    """Description of the fleet, from which a worker is made.

    Environments are numbered through the fleet: those of run r follow those of run r - 1.
    """

    runs: tuple[RunTasks, ...]  # of the whole fleet
    world: WorldSettings
    policy: PolicyShape
    schedule: ScheduleSettings = field(default_factory=ScheduleSettings)

    def place(self, run: int, position: int) -> int:
        """Return the number, from 1 on, by which workers say what they work on."""
        return 1 + run * len(self.runs[0].tasks) + position

    def shown(self, place: int) -> str:
        """Return task and run of a place, for messages."""
        run, position = divmod(place - 1, len(self.runs[0].tasks))
        return f"task {task_label(self.runs[run].tasks[position])} of run {run}"

    def run_of(self, environment: int) -> RunTasks:
        """Return the run that an environment belongs to."""
        return self.runs[environment // self.schedule.environments]

    def stream(self, environment: int, *domain: int) -> tuple[int, ...]:
        """Return the name of a random stream of an environment: its run's seed, then `domain`."""
        number = environment % self.schedule.environments
        return (self.run_of(environment).seed, *domain, *([number] if number else []))


@dataclass(frozen=True)
class Begin:
    """Order to build the worker's environments of the tasks at `positions`, and close all others.

    The tasks in `fresh` start a new episode, the others continue from the shared states in `slot`,
    where the index of a task is that in `positions`.
    """

    activity: ClassVar[str] = "making"
    positions: tuple[int, ...]
    fresh: tuple[int, ...]
    slot: int


class Part(NamedTuple):
    """Part of a chunk that belongs to one task."""

    position: int
    first_step: int  # number of earlier steps of each environment of this task
    uniform: bool


@dataclass(frozen=True)
class Chunk:
    """Order to roll out these parts in all environments: part i with policy i into rows i."""

    activity: ClassVar[str] = "collecting transitions of"
    parts: tuple[Part, ...]
    slot: int


class Episode(NamedTuple):
    """One episode of a run's policy on the task at `position`."""

    run: int
    position: int
    deterministic: bool
    stream: tuple[int, ...]


@dataclass(frozen=True)
class Play:
    """Order to play these episodes, by their numbers."""

    activity: ClassVar[str] = "playing episodes of"
    episodes: dict[int, Episode]
