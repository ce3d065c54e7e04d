"""Reset vectors of a task: the positions of object and goal with which an episode starts."""

from typing import Any

import numpy as np

from recall.errors import BadValueError
from recall.worlds.continual_world.tasks.task import Task
from recall.worlds.simulator import Array

_TOLERANCE = 1e-6


class ResetVectors:
    """The box from which a task's reset vectors are drawn."""

    def __init__(self, task: Task):
        self.low, self.high = np.array(task.reset_low), np.array(task.reset_high)
        self._task = task

    def draw(self, rng: np.random.Generator) -> Array:
        """Draw a vector, again if object and goal are too near, as Meta-World does."""
        while True:
            vector = rng.uniform(self.low, self.high)
            apart = np.hypot(*(vector[:2] - vector[-3:-1]))
            if apart >= self._task.minimum_distance:
                return vector

    def checked(self, given: Any) -> Array:
        """Return a vector that a user has given; raise BadValueError if the task has none such."""
        vector = np.array(given, np.float64)
        name, low, high = self._task.name, self.low, self.high
        if vector.shape != low.shape:
            raise BadValueError(
                f"rand_vec of shape {vector.shape} for {name}; expected {low.shape}, "
                f"from {low.tolist()} to {high.tolist()}"
            )
        inside = (vector >= low - _TOLERANCE) & (vector <= high + _TOLERANCE)
        if not inside.all():
            raise BadValueError(
                f"rand_vec {vector.tolist()} for {name} is outside of "
                f"{low.tolist()} to {high.tolist()}"
            )
        return vector
