"""Settling of the hand at the start of an episode, also ahead of time.

Settling takes 250 substeps, as many as 50 steps of an episode. In most tasks all episodes start
from one settled state. Where the reset vector affects contacts while the hand settles, every
episode settles anew, and `HandsAhead` does so in a thread while the episode before is played.
"""

import copy
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import mujoco
import numpy as np

from recall.worlds.continual_world.models import STATE, SUBSTEPS, load_physics
from recall.worlds.continual_world.tasks.task import Task
from recall.worlds.simulator import Array

_SETTLE_SUBSTEPS = 50 * SUBSTEPS
_HAND_DOWN = np.array([1.0, 0.0, 1.0, 0.0])
_GRIPPER_OPEN = np.array([-1.0, 1.0])


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
    """Return the settled hand of a task whose episodes share it, computed once per process.

    It does not depend on the position of the fixture.
    """
    from recall.worlds.continual_world.tasks import load_task

    model = load_physics(name)
    return settle(model, mujoco.MjData(model), load_task(name))


class HandsAhead:
    """Settled hands of coming episodes, by slot, from a thread of their own.

    A hand is a function of the reset vector alone, so it does not matter when it is computed, or
    whether it is used. MuJoCo lets other threads run while it steps.
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
