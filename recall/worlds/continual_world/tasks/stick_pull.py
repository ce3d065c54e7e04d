"""Task stick-pull: put the stick through the handle of the thermos and pull."""

import numpy as np

from recall.worlds.continual_world.rewards import (
    both,
    caging,
    close_bonus,
    distance,
    goal_term,
    is_dropped,
    long_tail,
    pick_term,
    planar,
)
from recall.worlds.continual_world.tasks.task import (
    Scene,
    Start,
    Table,
    Task,
    body,
    body_rotation,
    site,
    with_height,
)
from recall.worlds.simulator import Array

_LIFT = 0.04
_RADIUS = 0.05
_STICK_HEIGHT = 0.02
_CONTAINER = np.array([0.05, 0.0, 0.0])  # offset of the middle from the handle
_SCALE = np.array([1.0, 1.0, 2.0])


def place(table: Table, vector: Array) -> Start:
    """Place stick and goal; the thermos is always at the same position."""
    stick = with_height(vector[:2], _STICK_HEIGHT)
    target = with_height(vector[3:5], _STICK_HEIGHT)
    table.set_joints(9, stick, still=slice(9, 15))
    table.forward()
    table.set_joints(16, np.array([0.0, 0.09]), still=slice(16, 17))
    table.forward()
    thermos, height = table.body("object"), table.body("stick")[2]
    lift_height = height + _LIFT
    return Start(
        target,
        thermos,
        table.fingers,
        tool=stick,
        height=height,
        farthest=distance(with_height(thermos, lift_height), stick) + lift_height,
        farthest_pull=planar(thermos, target),
    )


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching and picking the stick, bringing it to the handle, and pulling."""
    stick, handle = scene.object, scene.second
    reach = distance(stick, scene.fingers)
    to_handle, to_go = distance(stick, handle), planar(handle, start.target)
    height, lift_height = stick[:, 2], start.height + _LIFT
    picked = height >= lift_height - 0.01
    held = picked & ~is_dropped(height, start.height, to_go, reach)
    pulled = np.where(to_handle < 0.05, goal_term(to_go, start.farthest_pull, peak=2000.0), 0.0)
    brought = np.maximum(goal_term(to_handle, start.farthest) + pulled, 0.0)
    return (
        -reach
        + close_bonus(reach, grip)
        + pick_term(height, start, lift_height, reach, held)
        + np.where(held & (reach < 0.1), brought, 0.0)
    )


def _inserted(scene: Scene) -> Array:
    """Return True where the stick's end is through the handle."""
    handle, end = scene.second, scene.stick_end
    return (
        (end[:, 0] >= handle[:, 0])
        & (np.abs(end[:, 1] - handle[:, 1]) <= 0.04)
        & (np.abs(end[:, 2] - handle[:, 2]) <= 0.06)
    )


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the stick, bringing it to the thermos and through the handle, and pulling."""
    stick, container = scene.object, scene.second + _CONTAINER
    at_container = long_tail(
        distance(stick * _SCALE, container * _SCALE),
        0.0,
        _RADIUS,
        distance(start.tool * _SCALE, (start.object + _CONTAINER) * _SCALE),
    )
    stick_at_target = long_tail(
        distance(stick, start.target), 0.0, _RADIUS, distance(start.tool, start.target)
    )
    container_at_target = long_tail(
        distance(container, start.target), 0.0, _RADIUS, distance(start.object, start.target)
    )
    grasp = caging(scene, start, grip, stick, radius=0.014, pad_reach=0.05, planar_reach=0.01)
    holds = (
        (distance(stick, scene.fingers) < 0.02)
        & (scene.opening > 0)
        & (stick[:, 2] - 0.01 > start.tool[:, 2])
    )
    reward = both(np.where(holds, 1.0, grasp), at_container)
    pulling = np.where(
        success_v2(scene, start), 10.0, 6.0 + reward + 2.0 * stick_at_target + container_at_target
    )
    holding = np.where(_inserted(scene), pulling, 1.0 + reward + 5.0 * at_container)
    return np.where(holds, holding, reward)


def success_v1(scene: Scene, start: Start) -> Array:
    """Return True where the handle is within 8 cm of the goal and the stick is in the fingers."""
    return (planar(scene.second, start.target) <= 0.08) & (
        distance(scene.object, scene.fingers) <= 0.05
    )


def success_v2(scene: Scene, start: Start) -> Array:
    """Return True where the handle is within 12 cm of the goal and the stick is in it."""
    return (distance(scene.second, start.target) <= 0.12) & _inserted(scene)


TASK = Task(
    name="stick-pull",
    model="sawyer_stick_obj.xml",
    hand_start=(0.0, 0.6, 0.2),
    hand_low=(-0.5, 0.35, 0.05),
    reset_low=(-0.1, 0.55, 0.0, 0.35, 0.45, 0.0199),
    reset_high=(0.0, 0.65, 0.001, 0.45, 0.55, 0.0201),
    goal_low=(0.35, 0.45, 0.0199),
    goal_high=(0.45, 0.55, 0.0201),
    minimum_distance=0.1,
    object=body("stick"),
    turned=body_rotation("stick"),
    second=site("insertion"),
    reads={"stick_end": site("stick_end")},
    place=place,
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=success_v1,
    success_v2=success_v2,
)
