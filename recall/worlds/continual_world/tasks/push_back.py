"""Task push-back: pull the puck back towards the robot."""

import numpy as np

from recall.worlds.continual_world.rewards import (
    both,
    distance,
    long_tail,
    planar,
    push_reward,
    shaped_reach,
    within,
)
from recall.worlds.continual_world.tasks.task import (
    Scene,
    Start,
    Task,
    geom,
    geom_rotation,
    place_puck,
)
from recall.worlds.simulator import Array

_RADIUS = 0.007
# Meta-World stores this one in single precision, from which the mocap target is set.
_HAND_START = (0.0, float(np.float32(0.6)), float(np.float32(0.2)))


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the puck from above, closing the fingers, then pulling."""
    reach = shaped_reach(scene.fingers, scene.object, _HAND_START[2], grip)
    return push_reward(scene, start, reach)


def _grasp(scene: Scene, start: Start) -> Array:
    """Reward caging the puck. Unlike in `caging`, margins follow the pads, not their start."""
    y = scene.object[:, 1]
    caged, gripped = [], []
    for gap in (y - scene.right_pad[:, 1], scene.left_pad[:, 1] - y):
        margin = np.abs(np.abs(gap) - 0.05)
        caged.append(long_tail(gap, _RADIUS, 0.05, margin))
        gripped.append(long_tail(gap, _RADIUS, _RADIUS + 0.003, margin))
    margin = distance(start.object[:, ::2], start.fingers[:, ::2]) - 0.01
    near = long_tail(distance(scene.fingers[:, ::2], scene.object[:, ::2]), 0.0, 0.01, margin)
    around = both(both(*caged), near)
    return (around + np.where(around > 0.95, both(*gripped), 0.0)) / 2.0


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the puck, then bringing it to the goal."""
    to_target = distance(scene.object, start.target)
    to_target_start = distance(start.object, start.target)
    in_place = long_tail(to_target, 0.0, 0.05, to_target_start)
    holds = (
        (distance(scene.object, scene.fingers) < 0.01)
        & (scene.opening > 0)
        & (scene.opening < 0.55)
        & (to_target_start - to_target > 0.01)
    )
    reward = both(_grasp(scene, start), in_place) + np.where(holds, 1.0 + 5.0 * in_place, 0.0)
    return np.where(to_target < 0.05, 10.0, reward)


TASK = Task(
    name="push-back",
    model="sawyer_push_back_v3.xml",
    hand_start=_HAND_START,
    reset_low=(-0.1, 0.8, 0.02, -0.1, 0.6, 0.0199),
    reset_high=(0.1, 0.85, 0.02, 0.1, 0.7, 0.0201),
    goal_low=(-0.1, 0.6, 0.0199),
    goal_high=(0.1, 0.7, 0.0201),
    minimum_distance=0.15,
    object=geom("objGeom"),
    turned=geom_rotation("objGeom"),
    place=lambda table, vector: place_puck(table, vector, table.geom("objGeom")[2]),
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=within(0.07, planar),
    success_v2=within(0.07),
)
