"""A transition as one row of float32 numbers: what worlds write and replay reads."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Columns:
    """Where the numbers of a transition stand in a row."""

    observation_size: int
    action_size: int

    @property
    def width(self) -> int:
        """Numbers in a row of D_new."""
        return 2 * self.observation_size + self.action_size + 2

    @property
    def old_width(self) -> int:
        """Numbers in a row of D_old: the stored policy comes behind the transition."""
        return self.width + 2 * self.action_size

    def pack(
        self,
        observation: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        terminated: np.ndarray,
        next_observation: np.ndarray,
    ) -> np.ndarray:
        """Rows [..., width] of what the worlds gave, on the host."""
        parts = (observation, action, reward[..., None], terminated[..., None], next_observation)
        return np.concatenate([np.asarray(part, np.float32) for part in parts], axis=-1)

    def split(self, rows: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Observation, action, reward, terminated, next observation of rows [..., >= width].

        For NumPy and JAX arrays alike.
        """
        obs, act = self.observation_size, self.action_size
        return (
            rows[..., :obs],
            rows[..., obs : obs + act],
            rows[..., obs + act],
            rows[..., obs + act + 1],
            rows[..., obs + act + 2 : self.width],
        )
