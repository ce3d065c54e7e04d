"""Small Gymnasium environments with known behaviour, for worker processes to import too."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Blank(gymnasium.Env[np.ndarray, np.ndarray]):
    """Always succeeds, and shows a white picture if it is made for that."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = action_space = Box(-1.0, 1.0, (2,))

    def __init__(self, render_mode: str | None = None):
        self.render_mode = render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return np.zeros(2, np.float32), 1.0, False, False, {"success": True}

    def render(self) -> np.ndarray:
        return np.full((48, 64, 3), 255, np.uint8)


class Counter(gymnasium.Env[np.ndarray, np.ndarray]):
    """Shows how many steps it has had and the last action it got; its action box is lopsided."""

    observation_space = Box(-100.0, 100.0, (2,), np.float32)
    action_space = Box(np.float32(2.0), np.float32(6.0), (1,), np.float32)
    ends_at: int | None = None
    breaks_at: int | None = None
    success_key = "success"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        self.start = self.np_random.uniform()
        return np.array([0.0, self.start], np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        broken = self.steps == self.breaks_at
        shown = [np.nan if broken else self.steps, action[0]]
        info = {self.success_key: self.steps == 2}
        return np.array(shown, np.float32), 1.0, self.steps == self.ends_at, False, info


def counter() -> gymnasium.Env[Any, Any]:
    return Counter()


def ending() -> gymnasium.Env[Any, Any]:
    env = Counter()
    env.ends_at = 3
    env.success_key = "is_success"
    return env


def breaking() -> gymnasium.Env[Any, Any]:
    env = Counter()
    env.breaks_at = 4
    return env


def failing() -> gymnasium.Env[Any, Any]:
    raise ZeroDivisionError("no such luck")


def discrete() -> gymnasium.Env[Any, Any]:
    env = Counter()
    env.action_space = Discrete(3)  # type: ignore[assignment]
    return env


def image() -> gymnasium.Env[Any, Any]:
    env = Counter()
    env.observation_space = Box(0, 255, (8, 8, 3), np.uint8)  # type: ignore[assignment]
    return env


def unbounded() -> gymnasium.Env[Any, Any]:
    env = Counter()
    env.action_space = Box(-np.inf, np.inf, (1,), np.float32)
    return env
