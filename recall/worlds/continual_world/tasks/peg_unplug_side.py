"""Task peg-unplug-side: pull the peg out of the wall, sideways."""

import numpy as np

from recall.worlds.continual_world.rewards import (
    caging,
    distance,
    long_tail,
    planar,
    push_reward,
    shaped_reach,
    within,
)
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

_HAND_START = (0.0, 0.6, 0.2)
_PLUG = np.array([0.044, 0.0, 0.131])  # position in the wall, in the frame of the box
_OUT = np.array([0.15, 0.0, 0.0])
_UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def place(table: Table, vector: Array) -> Start:
    """Place the box, with the peg in its wall.

    Meta-World zeroes the peg's linear velocity but not its spin, which comes from falling on the
    table while the hand settled.
    """
    plug = vector + _PLUG
    table.set_joints(9, np.concatenate([plug, _UPRIGHT]), still=slice(9, 12))
    table.forward()
    target, peg = plug + _OUT, table.site("pegEnd")
    return Start(target, peg, table.fingers, farthest=distance(target, peg))


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the peg from above, closing the fingers, then pulling."""
    reach = shaped_reach(scene.fingers, scene.object, _HAND_START[2], grip)
    return push_reward(scene, start, reach)


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the peg, then bringing it to the goal."""
    to_target = distance(scene.object, start.target)
    in_place = long_tail(to_target, 0.0, 0.05, distance(start.object, start.target))
    grasp = caging(
        scene,
        start,
        grip,
        scene.object,
        radius=0.025,
        pad_reach=0.05,
        planar_reach=0.005,
        effort=0.8,
    )
    pulled = (scene.opening > 0.5) & (scene.object[:, 0] - start.object[:, 0] > 0.015)
    holds = pulled & (distance(scene.object, scene.fingers) < 0.035)
    reward = 2.0 * grasp + np.where(holds, 1.0 + 5.0 * in_place, 0.0)
    return np.where(to_target <= 0.05, 10.0, reward)


TASK = Task(
    name="peg-unplug-side",
    model="sawyer_peg_unplug_side.xml",
    hand_start=_HAND_START,
    reset_low=(-0.25, 0.6, -0.001),
    reset_high=(-0.15, 0.8, 0.001),
    goal_low=(-0.25 + 0.194, 0.6, -0.001 + 0.131),
    goal_high=(-0.15 + 0.194, 0.8, 0.001 + 0.131),
    fixture=Fixture("box"),
    settles_anew=True,
    object=site("pegEnd"),
    turned=body_quaternion("plug1"),
    place=place,
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=within(0.07, planar),
    success_v2=within(0.07),
)
