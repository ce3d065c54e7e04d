"""Task shelf-place: put the puck on the shelf."""

import numpy as np

from recall.worlds.continual_world.rewards import (
    both,
    caging,
    distance,
    goal_term,
    is_dropped,
    long_tail,
    pick_term,
    shaped_reach,
    within,
)
from recall.worlds.continual_world.tasks.task import (
    Fixture,
    Scene,
    Start,
    Table,
    Task,
    body,
    geom_rotation,
    with_height,
)
from recall.worlds.simulator import Array

_LIFT = 0.04
_RADIUS = 0.05
_SHELF_HEIGHT = 0.24
# Single precision, as in Meta-World.
_HAND_START = (0.0, float(np.float32(0.6)), float(np.float32(0.2)))


def shelf_at(vector: Array) -> Array:
    """Return the position of the shelf, on which the goal lies."""
    return vector[3:] - np.array([0.0, 0.0, 0.3])


def place(table: Table, vector: Array) -> Start:
    """Place the shelf with the goal on it, and the puck at the height at which it settled."""
    puck = with_height(vector[:2], table.body("obj")[2])
    table.forward()
    target = table.site_offset("goal") + shelf_at(vector)
    table.set_joints(9, puck, still=slice(9, 15))
    table.forward()
    height = table.geom("objGeom")[2]
    lift_height = height + _LIFT
    farthest = distance(with_height(puck, lift_height), target) + lift_height
    return Start(target, puck, table.fingers, height=height, farthest=farthest)


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the puck from above, picking and placing it."""
    reach = distance(scene.object, scene.fingers)
    to_target = distance(scene.object, start.target)
    height, lift_height = scene.object[:, 2], start.height + _LIFT
    picked = height >= lift_height - 0.01
    held = picked & ~is_dropped(height, start.height, to_target, reach)
    placed = np.maximum(goal_term(to_target, start.farthest), 0.0)
    return (
        shaped_reach(scene.fingers, scene.object, start.fingers[:, 2], grip)
        + pick_term(height, start, lift_height, reach, held)
        + np.where(held & (reach < 0.1), placed, 0.0)
    )


def _in_place(scene: Scene, start: Start, to_target: Array) -> Array:
    """Reward a puck near the target, less if it is below the shelf or in front of it."""
    in_place = long_tail(to_target, 0.0, _RADIUS, distance(start.object, start.target))
    x, y, height = scene.object[:, 0], scene.object[:, 1], scene.object[:, 2]
    target_x, target_y = start.target[:, 0], start.target[:, 1]
    low = (height > 0.0) & (height < _SHELF_HEIGHT) & (np.abs(x - target_x) < 0.15)
    into = (y - (target_y - 3 * _RADIUS)) / (3 * _RADIUS)
    below = (_SHELF_HEIGHT - height) / _SHELF_HEIGHT
    in_front = low & (into > 0.0) & (y < target_y)
    # Outside of its region the product has no meaning and may divide by zero.
    loss = both(np.where(in_front, into, 0.0), np.where(in_front, below, 0.0))
    in_place = np.clip(in_place - loss, 0.0, 1.0)
    return np.where(low & (y > target_y), 0.0, in_place)


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the puck, lifting it, and bringing it onto the shelf."""
    to_target = distance(scene.object, start.target)
    grasp = caging(
        scene,
        start,
        grip,
        scene.object,
        radius=0.02,
        pad_reach=0.05,
        planar_reach=0.01,
        dense=False,
    )
    near = long_tail(to_target, 0.0, _RADIUS, distance(start.object, start.target))
    holds = (
        (distance(scene.object, scene.fingers) < 0.025)
        & (scene.opening > 0)
        & (scene.object[:, 2] - 0.01 > start.object[:, 2])
    )
    lifted = np.where(holds, 1.0 + 5.0 * _in_place(scene, start, to_target), 0.0)
    return np.where(to_target < _RADIUS, 10.0, both(grasp, near) + lifted)


TASK = Task(
    name="shelf-place",
    model="sawyer_shelf_placing.xml",
    hand_start=_HAND_START,
    reset_low=(-0.1, 0.5, 0.019, -0.1, 0.8, 0.299),
    reset_high=(0.1, 0.6, 0.021, 0.1, 0.9, 0.301),
    goal_low=(-0.1, 0.8, 0.299),
    goal_high=(0.1, 0.9, 0.301),
    minimum_distance=0.1,
    fixture=Fixture("shelf", shelf_at),
    object=body("obj"),
    turned=geom_rotation("objGeom"),
    place=place,
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=within(0.08),
    success_v2=within(0.07),
)
