"""Layout of a transition as one row of float32 numbers, written by workers and read by replay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recall.settings import WorldSettings
from recall.worlds.registry import Task
from recall.worlds.slots import sizes_of


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

    def split(self, rows: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Split rows [..., >= width] into their fields, for NumPy and JAX arrays alike.

        The fields are observation, action, reward, terminated, truncated and next observation.
        """
        obs, act = self.observation_size, self.action_size
        return (
            rows[..., :obs],
            rows[..., obs : obs + act],
            rows[..., obs + act],
            rows[..., obs + act + 1],
            rows[..., obs + act + 2],
            rows[..., obs + act + 3 : self.width],
        )


def task_sizes(tasks: Sequence[Task], settings: WorldSettings) -> tuple[Columns, int]:
    """Return the columns of the tasks' transitions, and the largest simulator state's size."""
    spaces, state_size = sizes_of(tasks, settings)
    return Columns(spaces.observation.shape[0], spaces.action.shape[0]), state_size
