"""Tasks that bring a puck to a goal: push, push-wall, push-back and shelf-place."""

import numpy as np

from recall.worlds.continual_world.rewards import (
    both,
    caging,
    distance,
    goal_term,
    is_dropped,
    long_tail,
    near_target,
    pick_term,
    planar,
    push_reward,
    shaped_reach,
    within,
)
from recall.worlds.continual_world.task import (
    LIFT,
    Fixture,
    Place,
    Scene,
    Source,
    Start,
    Table,
    Task,
    body,
    geom,
    geom_rotation,
    single,
    with_height,
)
from recall.worlds.simulator import Array

_PUCK = geom("objGeom")


def _on_table(source: Source) -> Place:
    """Place puck and goal on the table, both at the height at which the puck settled."""

    def place(table: Table, vector: Array) -> Start:
        height = table.at(source)[2]
        puck, target = with_height(vector[:2], height), with_height(vector[3:5], height)
        table.set_joints(9, puck, still=slice(9, 15))
        table.forward()
        away = puck[:2] - target[:2]
        return Start(target, puck, table.fingers, farthest=np.sqrt(np.vecdot(away, away)))

    return place


def _push_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the puck, then pushing it."""
    return push_reward(scene, start, -distance(scene.fingers, scene.object))


def _push_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the puck, then bringing it to the goal."""
    to_target, in_place = near_target(scene, start)
    grasp = caging(scene, start, grip, radius=0.015, planar_reach=0.005)
    holds = (distance(scene.object, scene.fingers) < 0.02) & (scene.opening > 0)
    reward = np.where(holds, 1.0 + 4.0 * grasp + 5.0 * in_place, 2.0 * grasp)
    return np.where(to_target < 0.05, 10.0, reward)


_PUSH = Task(
    name="push",
    model="sawyer_push_v3.xml",
    reset_low=(-0.1, 0.6, 0.02, -0.1, 0.8, 0.01),
    reset_high=(0.1, 0.7, 0.02, 0.1, 0.9, 0.02),
    minimum_distance=0.15,
    object=body("obj"),
    turned=geom_rotation("objGeom"),
    place=_on_table(body("obj")),
    reward_v1=_push_v1,
    reward_v2=_push_v2,
    success_v1=within(0.07, planar),
    success_v2=within(0.05),
)


# Push-wall: around a wall. Its waypoint is past the wall's end; sideways distances count three
# times.
_WAYPOINT = np.array([-0.05, 0.77])
_SIDEWAYS = np.array([3.0, 1.0])


def _around(scene: Scene, start: Start) -> Array:
    """Return how near the puck is to the waypoint; the margin depends on the puck's height."""
    rise = start.object[:, 2] - scene.object[:, 2]
    flat = (start.object[:, :2] - _WAYPOINT) * _SIDEWAYS
    margin = np.sqrt(np.vecdot(flat, flat) + rise * rise)
    away = distance(scene.object[:, :2] * _SIDEWAYS, _WAYPOINT * _SIDEWAYS)
    return long_tail(away, 0.0, 0.05, margin)


def _push_wall_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the puck, bringing it past the wall, then to the goal."""
    to_target, in_place = near_target(scene, start)
    grasp = caging(scene, start, grip, radius=0.015, planar_reach=0.005)
    holds = (distance(scene.object, scene.fingers) < 0.02) & (scene.opening > 0)
    past = scene.object[:, 1] > 0.75
    carried = np.where(past, 5.0 + 3.0 * in_place, 1.0 + 4.0 * _around(scene, start))
    reward = 2.0 * grasp + np.where(holds, carried, 0.0)
    return np.where(to_target < 0.05, 10.0, reward)


_PUSH_WALL = Task(
    name="push-wall",
    model="sawyer_push_wall_v3.xml",
    reset_low=(-0.05, 0.6, 0.015, -0.05, 0.85, 0.01),
    reset_high=(0.05, 0.65, 0.015, 0.05, 0.9, 0.02),
    minimum_distance=0.15,
    object=_PUCK,
    turned=geom_rotation("objGeom"),
    place=_on_table(_PUCK),
    reward_v1=_push_v1,
    reward_v2=_push_wall_v2,
    success_v1=within(0.07, planar),
    success_v2=within(0.07),
)


# Push-back: towards the robot.
_BACK_START = single(0.0, 0.6, 0.2)
_RADIUS = 0.007


def push_back_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the puck from above, closing the fingers, then pulling."""
    reach = shaped_reach(scene.fingers, scene.object, _BACK_START[2], grip)
    return push_reward(scene, start, reach)


def _caging_back(scene: Scene, start: Start) -> Array:
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


def _push_back_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the puck, then bringing it to the goal."""
    to_target, in_place = near_target(scene, start)
    holds = (
        (distance(scene.object, scene.fingers) < 0.01)
        & (scene.opening > 0)
        & (scene.opening < 0.55)
        & (distance(start.object, start.target) - to_target > 0.01)
    )
    grasp = both(_caging_back(scene, start), in_place)
    return np.where(to_target < 0.05, 10.0, grasp + np.where(holds, 1.0 + 5.0 * in_place, 0.0))


_PUSH_BACK = Task(
    name="push-back",
    model="sawyer_push_back_v3.xml",
    hand_start=_BACK_START,
    reset_low=(-0.1, 0.8, 0.02, -0.1, 0.6, 0.0199),
    reset_high=(0.1, 0.85, 0.02, 0.1, 0.7, 0.0201),
    minimum_distance=0.15,
    object=_PUCK,
    turned=geom_rotation("objGeom"),
    place=_on_table(_PUCK),
    reward_v1=push_back_v1,
    reward_v2=_push_back_v2,
    success_v1=within(0.07, planar),
    success_v2=within(0.07),
)


# Shelf-place: onto a shelf, on which the goal lies.
_NEAR = 0.05
_SHELF_HEIGHT = 0.24


def _shelf_at(vector: Array) -> Array:
    return vector[3:] - np.array([0.0, 0.0, 0.3])


def _on_shelf(table: Table, vector: Array) -> Start:
    """Place the shelf with the goal on it, and the puck at the height at which it settled."""
    puck = with_height(vector[:2], table.at(body("obj"))[2])
    table.forward()
    target = table.site_offset("goal") + _shelf_at(vector)
    table.set_joints(9, puck, still=slice(9, 15))
    table.forward()
    height = table.at(_PUCK)[2]
    lift_height = height + LIFT
    farthest = distance(with_height(puck, lift_height), target) + lift_height
    return Start(target, puck, table.fingers, height=height, farthest=farthest)


def _shelf_place_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the puck from above, picking and placing it."""
    reach = distance(scene.object, scene.fingers)
    to_target = distance(scene.object, start.target)
    height, lift_height = scene.object[:, 2], start.height + LIFT
    picked = height >= lift_height - 0.01
    held = picked & ~is_dropped(height, start.height, to_target, reach)
    placed = np.maximum(goal_term(to_target, start.farthest), 0.0)
    return (
        shaped_reach(scene.fingers, scene.object, start.fingers[:, 2], grip)
        + pick_term(height, start, lift_height, reach, held)
        + np.where(held & (reach < 0.1), placed, 0.0)
    )


def _above_shelf(scene: Scene, start: Start, near: Array) -> Array:
    """Return how `near` the puck is, less if it is below the shelf or in front of it."""
    x, y, height = scene.object[:, 0], scene.object[:, 1], scene.object[:, 2]
    target_x, target_y = start.target[:, 0], start.target[:, 1]
    low = (height > 0.0) & (height < _SHELF_HEIGHT) & (np.abs(x - target_x) < 0.15)
    into = (y - (target_y - 3 * _NEAR)) / (3 * _NEAR)
    below = (_SHELF_HEIGHT - height) / _SHELF_HEIGHT
    in_front = low & (into > 0.0) & (y < target_y)
    # Outside of its region the product has no meaning and may divide by zero.
    loss = both(np.where(in_front, into, 0.0), np.where(in_front, below, 0.0))
    return np.where(low & (y > target_y), 0.0, np.clip(near - loss, 0.0, 1.0))


def _shelf_place_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the puck, lifting it, and bringing it onto the shelf."""
    to_target, near = near_target(scene, start)
    grasp = caging(scene, start, grip, radius=0.02, planar_reach=0.01, dense=False)
    holds = (
        (distance(scene.object, scene.fingers) < 0.025)
        & (scene.opening > 0)
        & (scene.object[:, 2] - 0.01 > start.object[:, 2])
    )
    lifted = np.where(holds, 1.0 + 5.0 * _above_shelf(scene, start, near), 0.0)
    return np.where(to_target < _NEAR, 10.0, both(grasp, near) + lifted)


_SHELF_PLACE = Task(
    name="shelf-place",
    model="sawyer_shelf_placing.xml",
    hand_start=single(0.0, 0.6, 0.2),
    reset_low=(-0.1, 0.5, 0.019, -0.1, 0.8, 0.299),
    reset_high=(0.1, 0.6, 0.021, 0.1, 0.9, 0.301),
    minimum_distance=0.1,
    fixture=Fixture("shelf", _shelf_at),
    object=body("obj"),
    turned=geom_rotation("objGeom"),
    place=_on_shelf,
    reward_v1=_shelf_place_v1,
    reward_v2=_shelf_place_v2,
    success_v1=within(0.08),
    success_v2=within(0.07),
)

PUCKS = (_PUSH, _PUSH_WALL, _PUSH_BACK, _SHELF_PLACE)
