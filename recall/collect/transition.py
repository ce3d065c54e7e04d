"""Layout of a transition as one row of float32 numbers, written by workers and read by replay."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class Transition(NamedTuple):
    """Fields of transitions, each [...] or [..., size]."""

    observation: Any
    action: Any
    reward: Any
    terminated: Any
    truncated: Any
    next_observation: Any


@dataclass(frozen=True)
class Columns:
    """Columns of a row that holds a transition."""

    observation_size: int
    action_size: int

    @property
    def width(self) -> int:
        """Number of columns of D_new."""
        return 2 * self.observation_size + self.action_size + 3

    @property
    def old_width(self) -> int:
        """Number of columns of D_old: the transition, the stored policy and values, its future.

        The future, a return and a discount, is used where single rows of a task are kept.
        """
        return self.width + 2 * self.action_size + 4

    def split(self, rows: Any) -> Transition:
        """Split rows [..., >= width] into views of their fields, for NumPy and JAX arrays alike."""
        obs, act = self.observation_size, self.action_size
        return Transition(
            rows[..., :obs],
            rows[..., obs : obs + act],
            rows[..., obs + act],
            rows[..., obs + act + 1],
            rows[..., obs + act + 2],
            rows[..., obs + act + 3 : self.width],
        )
