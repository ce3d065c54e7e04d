"""What the pool asks of its workers: plain data, one message each."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from recall.collect.policy import PolicyShape
from recall.settings import WorldSettings

# Random streams: (seed, domain, ...). Numbers belong to a seed, a task and a step, never to a
# worker, so results do not depend on how many workers there are.
ACTIONS, TRAINING, EVALUATION, SCORING = range(4)


class RunTasks(NamedTuple):
    """What a worker must know of a run: its seed and the tasks of its sequence."""

    seed: int
    tasks: tuple[Any, ...]  # names, or callables that make a Gymnasium environment


@dataclass(frozen=True)
class Setup:
    """First message to a worker."""

    runs: tuple[RunTasks, ...]  # of the whole fleet
    world: WorldSettings
    policy: PolicyShape
    chunk_steps: int
    state_size: int  # largest simulator state of any task
    offsets: dict[str, tuple[int, tuple[int, ...], str]]  # shared arrays: offset, shape, dtype


@dataclass(frozen=True)
class Begin:
    """Take up the tasks at these positions in some runs, and leave all others.

    The `fresh` ones start from their beginning, the others go on from the shared states. A task's
    place among the positions is its place in those.
    """

    positions: tuple[int, ...]
    fresh: tuple[int, ...]
    runs: tuple[int, ...]


class Part(NamedTuple):
    """One task's part of a chunk."""

    position: int
    first_step: int  # steps of the run on this task that came before
    uniform: bool


@dataclass(frozen=True)
class Chunk:
    """Roll these parts in all runs the worker has; part i with policies i, into rows i."""

    parts: tuple[Part, ...]


class Episode(NamedTuple):
    """One episode of a run's policy on the task at `position`."""

    run: int
    position: int
    deterministic: bool
    stream: tuple[int, ...]


@dataclass(frozen=True)
class Play:
    """Play these episodes with the evaluation policies and report how they ended."""

    episodes: tuple[Episode, ...]


class EpisodeResult(NamedTuple):
    """How an episode ended."""

    episode_return: float
    success: bool
    last_success: bool
