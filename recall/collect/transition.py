"""A transition as one row of float32 numbers: what worlds write and replay reads."""

from dataclasses import dataclass
from typing import Any


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
        """Numbers in a row of D_old: policy and values of the time come behind the transition."""
        return self.width + 2 * self.action_size + 2

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
