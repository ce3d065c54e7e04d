"""Interface of all worlds: a simulator of one task, with many slots stepped together."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

from recall.errors import BadValueError, UnknownNameError

Array = np.ndarray


class TaskFailedError(BadValueError):
    """The code of a task raised an exception, which would be raised again."""


class DrawingError(BadValueError):
    """A task whose images were asked for draws none."""


class Step(NamedTuple):
    """Result of one step of all slots."""

    observation: Array  # [slots, obs] float64
    reward: Array  # [slots] float64
    terminated: Array  # [slots] bool: the episode reached a true end
    truncated: Array  # [slots] bool: cut short by the task; callers apply the horizon
    success: Array  # [slots] bool
    diverged: Array  # [slots] bool: the physics diverged; the slot must be reset
    criteria: Mapping[str, Array] = {}  # [slots] bool for each of the simulator's `criteria`


class Rolled(NamedTuple):
    """Results of several steps of all slots, none of which ended an episode by itself."""

    observation: Array  # [steps, slots, obs] float64
    reward: Array  # [steps, slots] float64
    success: Array  # [steps, slots] bool
    criteria: Mapping[str, Array] = {}  # [steps, slots] bool for each criterion


class Simulator(ABC):
    """`slots` independent copies of one task.

    A simulator has no seed, horizon or episode count: `recall.worlds.episodes` adds those. Only
    `reset` is random, so a slot's episode is a function of its generator and its actions,
    independent of the other slots.
    """

    task: str
    slots: int
    observation_space: Box  # of one slot
    action_space: Box  # of one slot: [-1, 1] in every dimension
    state_size: int
    # Criteria of success that are told beside `success`, under these names. A world that has
    # several of them has the one that counts as `success`, too.
    criteria: tuple[str, ...] = ()
    # Names of the options that `reset` accepts. None: any.
    reset_options: tuple[str, ...] | None = None
    # Names that `render` accepts as its argument `camera_name`. Without any, it has none.
    cameras: tuple[str, ...] = ()
    # The part of an action that exploration may replace by random motion. A robot's grip is not:
    # it would drop what it holds.
    motion: slice = slice(None)

    @abstractmethod
    def reset(
        self, slot: int, rng: np.random.Generator, options: Mapping[str, Any] | None = None
    ) -> Array:
        """Start a new episode in `slot` and return its first observation, [obs]."""

    @abstractmethod
    def step(self, actions: Array) -> Step:
        """Apply finite `actions` [slots, act], each clipped to [-1, 1], in every slot."""

    @abstractmethod
    def get_state(self, slot: int) -> Array:
        """Return the state that determines the rest of the slot's episode, [state_size] float64."""

    @abstractmethod
    def set_state(self, slot: int, state: Array) -> None:
        """Continue, bit for bit, from a state that `get_state` returned in any process."""

    def expect(self, slot: int, rng: np.random.Generator) -> None:  # noqa: B027  (optional)
        """Prepare for a `reset` of the slot that will probably use a generator equal to `rng`.

        Must return soon and not change any result. The reset may be another, or never come.
        """

    def roll(self, steps: int) -> Any:
        """Return an object that steps all slots up to `steps` times, or None if there is none.

        It is the fast way to collect, with the results of `step` to the bit: `open()`, then
        `move(actions)`, which takes actions in [-1, 1] and returns only observations, then
        `close()`, which returns everything as a `Rolled`. If a slot diverges, `move` returns None;
        after `close`, `step_diverged()` returns that step. No slot is reset while it is open.
        """
        return None

    def render(self, slot: int, width: int = 480, height: int = 480) -> Array:
        """Return an RGB image of the slot, [height, width, 3] uint8, or raise DrawingError."""
        raise DrawingError(f"{self.task} cannot be rendered: its world draws no images")

    def check_options(self, options: Mapping[str, Any] | None) -> None:
        """Raise UnknownNameError for an option that `reset` would ignore."""
        for name in options or ():
            if self.reset_options is not None and name not in self.reset_options:
                raise UnknownNameError("reset option", name, self.reset_options)

    def close(self) -> None:  # noqa: B027  (most worlds hold no resources)
        """Release resources outside of Python's memory."""


def copied(
    simulator: Simulator, make: Callable[..., Simulator], **arguments: Any
) -> tuple[Any, ...]:
    """Return what `__reduce__` of a simulator returns to copy it by the states of its slots."""
    states = [simulator.get_state(slot) for slot in range(simulator.slots)]
    return _restored, (make, arguments, states)


def _restored(make: Callable[..., Simulator], arguments: Any, states: list[Array]) -> Simulator:
    simulator = make(slots=len(states), **arguments)
    for slot, state in enumerate(states):
        simulator.set_state(slot, state)
    return simulator


def unit_box(size: int) -> Box:
    """Return the action space of every task: [-1, 1] in `size` dimensions."""
    return Box(-1.0, 1.0, (size,), np.float32)
