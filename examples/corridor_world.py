"""A world of one's own: a point in a corridor that has to reach the left or the right end.

It has its own task names, steps many copies at once and saves their state exactly. Try it with

    recall train --plugin examples/corridor_world.py --sequence corridor-left,corridor-right \
        --method perfect_memory --preset quick
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from recall.worlds.registry import register_world
from recall.worlds.simulator import Array, Simulator, Step, unit_box

TASKS = ("corridor-left", "corridor-right")
HORIZON_STEPS = 30
_STEP, _NEAR = 0.1, 0.1


class Corridor(Simulator):
    """`slots` corridors, as one array of positions between -1 and 1."""

    def __init__(self, task: str, slots: int):
        self.task, self.slots = task, slots
        self.observation_space = Box(-1.0, 1.0, (1,), np.float64)
        self.action_space = unit_box(1)
        self.state_size = 1
        self._goal = -1.0 if task == "corridor-left" else 1.0
        self._position = np.zeros((slots, 1))

    def reset(
        self, slot: int, rng: np.random.Generator, options: Mapping[str, Any] | None = None
    ) -> Array:
        """Start somewhere in the middle half."""
        self._position[slot] = rng.uniform(-0.5, 0.5)
        return self._position[slot].copy()

    def step(self, actions: Array) -> Step:
        """Move every point; the nearer the goal, the larger the reward."""
        moved = self._position + _STEP * np.clip(actions, -1.0, 1.0)
        self._position = np.clip(moved, -1.0, 1.0)
        distance = np.abs(self._position[:, 0] - self._goal)
        never = np.zeros(self.slots, bool)
        return Step(
            self._position.copy(), -distance, never, never.copy(), distance < _NEAR, never.copy()
        )

    def get_state(self, slot: int) -> Array:
        """Return the position."""
        return self._position[slot].copy()

    def set_state(self, slot: int, state: Array) -> None:
        """Continue from a position."""
        self._position[slot] = state


def make_simulator(task: str, slots: int) -> Corridor:
    """Return corridors with the goal of `task`."""
    return Corridor(task, slots)


register_world("corridor", __name__)
