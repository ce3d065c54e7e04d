"""Interface of all worlds: a simulator of one task, with many slots stepped together."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

Array = np.ndarray


class Step(NamedTuple):
    """Result of one step of all slots."""

    observation: Array  # [slots, obs] float64
    reward: Array  # [slots] float64
    terminated: Array  # [slots] bool: the episode reached a true end
    truncated: Array  # [slots] bool: cut short by the task; callers apply the horizon
    success: Array  # [slots] bool
    diverged: Array  # [slots] bool: the physics diverged; the slot must be reset


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

    def render(self, slot: int, width: int = 480, height: int = 480) -> Array:
        """Return an RGB image of the slot, [height, width, 3] uint8."""
        raise NotImplementedError(f"{self.task} cannot be rendered: its world draws no images")

    def close(self) -> None:  # noqa: B027  (most worlds hold no resources)
        """Release resources outside of Python's memory."""


def unit_box(size: int) -> Box:
    """Return the action space of every task: [-1, 1] in `size` dimensions."""
    return Box(-1.0, 1.0, (size,), np.float32)
