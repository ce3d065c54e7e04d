"""Task push-wall: push the puck around a wall to the goal."""

import numpy as np

from recall.worlds.continual_world.rewards import caging, distance, long_tail, planar, within
from recall.worlds.continual_world.tasks.push import reward_v1
from recall.worlds.continual_world.tasks.task import (
    Scene,
    Start,
    Task,
    geom,
    geom_rotation,
    place_puck,
)
from recall.worlds.simulator import Array

# Waypoint past the wall's end; sideways distances count three times.
_WAYPOINT = np.array([-0.05, 0.77])
_SCALE = np.array([3.0, 1.0])


def _around(scene: Scene, start: Start) -> Array:
    """Return how near the puck is to the waypoint; the margin depends on the puck's height."""
    rise = start.object[:, 2] - scene.object[:, 2]
    flat = (start.object[:, :2] - _WAYPOINT) * _SCALE
    margin = np.sqrt(np.vecdot(flat, flat) + rise * rise)
    return long_tail(distance(scene.object[:, :2] * _SCALE, _WAYPOINT * _SCALE), 0.0, 0.05, margin)


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the puck, bringing it past the wall, then to the goal."""
    to_target = distance(scene.object, start.target)
    in_place = long_tail(to_target, 0.0, 0.05, distance(start.object, start.target))
    grasp = caging(
        scene, start, grip, scene.object, radius=0.015, pad_reach=0.05, planar_reach=0.005
    )
    holds = (distance(scene.object, scene.fingers) < 0.02) & (scene.opening > 0)
    past = scene.object[:, 1] > 0.75
    carried = np.where(past, 5.0 + 3.0 * in_place, 1.0 + 4.0 * _around(scene, start))
    reward = 2.0 * grasp + np.where(holds, carried, 0.0)
    return np.where(to_target < 0.05, 10.0, reward)


TASK = Task(
    name="push-wall",
    model="sawyer_push_wall_v3.xml",
    hand_start=(0.0, 0.6, 0.2),
    reset_low=(-0.05, 0.6, 0.015, -0.05, 0.85, 0.01),
    reset_high=(0.05, 0.65, 0.015, 0.05, 0.9, 0.02),
    goal_low=(-0.05, 0.85, 0.01),
    goal_high=(0.05, 0.9, 0.02),
    minimum_distance=0.15,
    object=geom("objGeom"),
    turned=geom_rotation("objGeom"),
    place=lambda table, vector: place_puck(table, vector, table.geom("objGeom")[2]),
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=within(0.07, planar),
    success_v2=within(0.07),
)
