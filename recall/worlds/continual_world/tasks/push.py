"""Task push: push the puck to the goal."""

import numpy as np

from recall.worlds.continual_world.rewards import caging, distance, long_tail, planar, push_reward
from recall.worlds.continual_world.tasks.task import (
    Scene,
    Start,
    Table,
    Task,
    body,
    geom_rotation,
    with_height,
)
from recall.worlds.simulator import Array


def place(table: Table, vector: Array) -> Start:
    """Place puck and goal, both at the height at which the puck settled."""
    height = table.body("obj")[2]
    puck, target = with_height(vector[:2], height), with_height(vector[3:5], height)
    table.set_joints(9, puck, still=slice(9, 15))
    table.forward()
    return Start(target, puck, table.fingers, farthest=planar(puck, target))


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


def success_v1(scene: Scene, start: Start) -> Array:
    """Return True where the puck is within 7 cm of the goal, at any height."""
    return planar(scene.object, start.target) <= 0.07


def success_v2(scene: Scene, start: Start) -> Array:
    """Return True where the puck is within 5 cm of the goal."""
    return distance(scene.object, start.target) <= 0.05


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
    place=place,
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=success_v1,
    success_v2=success_v2,
)
