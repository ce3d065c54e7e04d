"""Task push: push the puck to the goal."""

import numpy as np

from recall.worlds.continual_world.rewards import (
    caging,
    distance,
    long_tail,
    planar,
    push_reward,
    within,
)
from recall.worlds.continual_world.tasks.task import (
    Scene,
    Start,
    Task,
    body,
    geom_rotation,
    place_puck,
)
from recall.worlds.simulator import Array


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the puck, then pushing it."""
    return push_reward(scene, start, -distance(scene.fingers, scene.object))


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the puck, then bringing it to the goal."""
    to_target = distance(scene.object, start.target)
    in_place = long_tail(to_target, 0.0, 0.05, distance(start.object, start.target))
    grasp = caging(
        scene, start, grip, scene.object, radius=0.015, pad_reach=0.05, planar_reach=0.005
    )
    holds = (distance(scene.object, scene.fingers) < 0.02) & (scene.opening > 0)
    reward = np.where(holds, 1.0 + 4.0 * grasp + 5.0 * in_place, 2.0 * grasp)
    return np.where(to_target < 0.05, 10.0, reward)


TASK = Task(
    name="push",
    model="sawyer_push_v3.xml",
    hand_start=(0.0, 0.6, 0.2),
    reset_low=(-0.1, 0.6, 0.02, -0.1, 0.8, 0.01),
    reset_high=(0.1, 0.7, 0.02, 0.1, 0.9, 0.02),
    goal_low=(-0.1, 0.8, 0.01),
    goal_high=(0.1, 0.9, 0.02),
    minimum_distance=0.15,
    object=body("obj"),
    turned=geom_rotation("objGeom"),
    place=lambda table, vector: place_puck(table, vector, table.body("obj")[2]),
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=within(0.07, planar),
    success_v2=within(0.05),
)
