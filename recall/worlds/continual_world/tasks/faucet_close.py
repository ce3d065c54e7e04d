"""Task faucet-close: turn the handle of the faucet."""

import numpy as np

from recall.worlds.continual_world.rewards import distance, gaussian, goal_term, long_tail, within
from recall.worlds.continual_world.tasks.task import (
    Fixture,
    Scene,
    Start,
    Table,
    Task,
    body_quaternion,
    site,
)
from recall.worlds.simulator import Array

_TO_TARGET = np.array([-0.175, 0.0, 0.125])
_RADIUS = 0.07


def place(table: Table, vector: Array) -> Start:
    """Place the faucet, with its handle and target."""
    table.forward()
    target = vector + _TO_TARGET
    return Start(target, vector, table.fingers, farthest=distance(target, vector))


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the handle, then turning it."""
    reach = distance(scene.object, scene.fingers)
    turned = np.maximum(goal_term(distance(scene.object, start.target), start.farthest), 0.0)
    return -reach + np.where(reach < 0.05, turned, 0.0)


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching plus turning."""
    to_target = distance(scene.object, start.target)
    in_place = long_tail(
        to_target, 0.0, _RADIUS, np.abs(distance(start.object, start.target) - _RADIUS)
    )
    reach = gaussian(
        distance(scene.object, scene.fingers),
        0.0,
        0.01,
        np.abs(distance(start.object, start.fingers) - 0.01),
    )
    return np.where(to_target <= _RADIUS, 10.0, 2.0 * (2.0 * reach + 3.0 * in_place))


TASK = Task(
    name="faucet-close",
    model="sawyer_faucet.xml",
    hand_start=(0.0, 0.4, 0.2),
    hand_low=(-0.5, 0.40, -0.15),
    reset_low=(-0.1, 0.8, 0.0),
    reset_high=(0.1, 0.85, 0.0),
    goal_low=(-0.5, 0.40, -0.15),
    goal_high=(0.5, 1.0, 0.5),
    fixture=Fixture("faucetBase"),
    object=site("handleStartClose"),
    object_offset=(0.0, 0.0, -0.01),
    turned=body_quaternion("faucetBase"),
    place=place,
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=within(0.05),
    success_v2=within(_RADIUS),
)
