"""Starts of episodes: drawing reset vectors, settling the hand, and placing the objects.

Settling takes as long as 50 steps, so most tasks share one settled state. Where the reset vector
affects contacts while the hand settles, `HandsAhead` settles in a thread during the last episode.
"""

import copy
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import mujoco
import numpy as np

from recall.errors import BadValueError
from recall.worlds.continual_world.models import STATE, SUBSTEPS, load_physics
from recall.worlds.continual_world.task import Start, Task
from recall.worlds.continual_world.tasks import load_task
from recall.worlds.simulator import Array

_TOLERANCE = 1e-6
_SETTLE_SUBSTEPS = 50 * SUBSTEPS
_HAND_DOWN = np.array([1.0, 0.0, 1.0, 0.0])
_GRIPPER_OPEN = np.array([-1.0, 1.0])
_START_SIZES = (3, 3, 3, 3, 1, 1, 1)  # sizes of Start's fields
START_SIZE = sum(_START_SIZES)


def draw_vector(task: Task, rng: np.random.Generator) -> Array:
    """Draw a reset vector, again if object and goal are too near, as Meta-World does."""
    while True:
        vector = rng.uniform(task.reset_low, task.reset_high)
        if np.hypot(*(vector[:2] - vector[-3:-1])) >= task.minimum_distance:
            return vector


def checked_vector(task: Task, given: Any) -> Array:
    """Return a vector that a user has given; raise BadValueError if the task has none such."""
    vector, low, high = (
        np.array(each, np.float64) for each in (given, task.reset_low, task.reset_high)
    )
    box = f"{low.tolist()} to {high.tolist()}"
    if vector.shape != low.shape:
        raise BadValueError(
            f"rand_vec of shape {vector.shape} for {task.name}; expected {low.shape}, from {box}"
        )
    if not ((vector >= low - _TOLERANCE) & (vector <= high + _TOLERANCE)).all():
        raise BadValueError(f"rand_vec {vector.tolist()} for {task.name} is outside of {box}")
    return vector


class Settled(NamedTuple):
    """Hand at its start: MuJoCo's state, its joints, and the joints one substep earlier."""

    state: Array
    joints: Array
    joints_before: Array


def settle(model: mujoco.MjModel, data: mujoco.MjData, task: Task) -> Settled:
    """Move the hand to its start, and return what `put` needs to bring it there at once."""
    mujoco.mj_resetData(model, data)
    data.mocap_pos[0] = task.hand_start
    data.mocap_quat[0] = _HAND_DOWN
    data.ctrl[:] = _GRIPPER_OPEN
    mujoco.mj_step(model, data, nstep=_SETTLE_SUBSTEPS - 1)
    joints_before = data.qpos.copy()
    mujoco.mj_step(model, data)
    state = np.zeros(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, data, state, STATE)
    return Settled(state, data.qpos.copy(), joints_before)


def put(model: mujoco.MjModel, data: mujoco.MjData, hand: Settled) -> None:
    """Bring `data` to where settling left it."""
    mujoco.mj_setState(model, data, hand.state, STATE)
    # As after settling, positions lag one substep behind the joints.
    data.qpos[:] = hand.joints_before
    mujoco.mj_kinematics(model, data)
    data.qpos[:] = hand.joints


@cache
def settled(name: str) -> Settled:
    """Return the settled hand of a task whose episodes share it, computed once per process."""
    model = load_physics(name)
    return settle(model, mujoco.MjData(model), load_task(name))


class HandsAhead:
    """Settled hands of coming episodes, by slot, from a thread of their own.

    A hand is a function of the reset vector alone. MuJoCo lets other threads run while it steps.
    """

    def __init__(self, task: Task):
        self._task = task
        self._model = copy.copy(load_physics(task.name))  # its fixture is the thread's to move
        self._data = mujoco.MjData(self._model)
        self._thread = ThreadPoolExecutor(1, "recall-settling")
        self._expected: dict[int, tuple[Array, Future[Settled]]] = {}

    def expect(self, slot: int, vector: Array) -> None:
        """Begin to settle the hand of an episode of `slot` that will start with `vector`."""
        self._expected[slot] = (vector, self._thread.submit(self._settle, vector))

    def take(self, slot: int, vector: Array) -> Settled | None:
        """Return the hand that was settled for `vector`; None if none was expected."""
        if slot not in self._expected or not np.array_equal(self._expected[slot][0], vector):
            return None
        return self._expected.pop(slot)[1].result()

    def _settle(self, vector: Array) -> Settled:
        fixture = self._task.fixture
        if fixture is not None:
            self._model.body(fixture.body).pos[:] = fixture.at(vector)
        return settle(self._model, self._data, self._task)

    def close(self) -> None:
        """End the thread; hands that were not begun are given up."""
        self._thread.shutdown(wait=False, cancel_futures=True)


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
