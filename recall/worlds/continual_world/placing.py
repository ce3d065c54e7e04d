"""Placing the objects of one slot at the start of an episode, and what is kept of that start."""

import mujoco
import numpy as np

from recall.worlds.continual_world.tasks.task import Start
from recall.worlds.simulator import Array

_START_SIZES = (3, 3, 3, 3, 1, 1, 1)  # sizes of Start's fields
START_SIZE = sum(_START_SIZES)


class SlotTable:
    """One slot, as the `Table` that a task's `place` arranges."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, fingers: Array):
        self.fingers = fingers
        self.is_current = False
        self._model, self._data = model, data

    def body(self, name: str) -> Array:
        """Return the position of a body."""
        return self._data.body(name).xpos.copy()

    def site(self, name: str) -> Array:
        """Return the position of a site."""
        return self._data.site(name).xpos.copy()

    def geom(self, name: str) -> Array:
        """Return the position of a geom."""
        return self._data.geom(name).xpos.copy()

    def site_offset(self, name: str) -> Array:
        """Return the position of a site in its body's frame."""
        return self._model.site(name).pos.copy()

    def set_joints(self, first: int, values: Array | float, still: slice) -> None:
        """Write joint positions, and zero the velocities of `still`."""
        values = np.atleast_1d(values)
        self._data.qpos[first : first + values.size] = values
        self._data.qvel[still] = 0.0
        self.is_current = False

    def forward(self) -> None:
        """Recompute positions and contacts."""
        mujoco.mj_forward(self._model, self._data)
        self.is_current = True


def start_views(values: Array) -> Start:
    """Return Start's fields as views of its flat form, [slots, 3] or [slots]."""
    ends = np.cumsum(_START_SIZES)
    parts = [
        values[:, end - size : end] if size > 1 else values[:, end - 1]
        for end, size in zip(ends, _START_SIZES, strict=True)
    ]
    return Start(*parts)


def flat(start: Start) -> Array:
    """Return Start's fields of one slot as one vector."""
    return np.concatenate(
        [np.broadcast_to(value, size) for value, size in zip(start, _START_SIZES, strict=True)]
    )
