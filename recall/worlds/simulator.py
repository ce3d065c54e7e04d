"""The contract every world keeps: simulators of one task, many slots stepped together."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

Array = np.ndarray


class Step(NamedTuple):
    """What one step gave, slot by slot."""

    observation: Array  # [slots, obs] float64
    reward: Array  # [slots] float64
    terminated: Array  # [slots] bool: a true end of the episode, nothing follows
    truncated: Array  # [slots] bool: cut short by the task itself; a horizon is the caller's
    success: Array  # [slots] bool
    diverged: Array  # [slots] bool: the physics broke down; the slot must be reset


class Simulator(ABC):
    """`slots` independent copies of one task.

    A simulator knows no seed, no horizon and no episode count: `recall.worlds.episodes` adds
    those. Randomness comes in through `reset` alone, so a slot's episode is a function of its
    generator and its actions, whatever the other slots do.
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
        """Start a new episode in `slot`; returns its first observation, [obs]."""

    @abstractmethod
    def step(self, actions: Array) -> Step:
        """Apply finite `actions` [slots, act], each clipped to [-1, 1], in every slot."""

    @abstractmethod
    def get_state(self, slot: int) -> Array:
        """Everything that decides the rest of the slot's episode, [state_size] float64."""

    @abstractmethod
    def set_state(self, slot: int, state: Array) -> None:
        """Go on from what `get_state` gave, bit for bit, in this or another process."""

    def render(self, slot: int, width: int = 480, height: int = 480) -> Array:
        """An RGB picture of the slot, [height, width, 3] uint8."""
        raise NotImplementedError(f"{self.task} has no pictures")

    def close(self) -> None:  # noqa: B027  (most worlds hold nothing)
        """Release what the simulator holds outside of Python's memory."""


def unit_box(size: int) -> Box:
    """The action space of every task: [-1, 1] in `size` dimensions."""
    return Box(-1.0, 1.0, (size,), np.float32)
