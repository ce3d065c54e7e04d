"""Tasks that use a tool: hammer and stick-pull."""

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
from recall.worlds.continual_world.task import (
    LIFT,
    Fixture,
    Scene,
    Start,
    Table,
    Task,
    body,
    body_quaternion,
    body_rotation,
    geom,
    joint,
    site,
    with_height,
)
from recall.worlds.simulator import Array

# Hammer: pick up the hammer and drive the nail in.
_LIFT_HAMMER = 0.09
_HEAD = np.array([0.16, 0.06, 0.0])  # position of the head in the hammer's frame
_FLAT = np.array([1.0, 0.0, 0.0, 0.0])
_INWARDS = np.array([0.0, 1.0, 0.0])  # way of the nail


def _place_hammer(table: Table, vector: Array) -> Start:
    """Place the hammer; the nail stays where it is."""
    target, nail = table.at(site("goal")), table.at(site("nailHead"))
    table.set_joints(9, vector, still=slice(9, 15))
    table.forward()
    height = table.at(body("hammer"))[2]
    lift_height = height + _LIFT_HAMMER
    farthest = (
        distance(with_height(vector, lift_height), nail) + lift_height + abs(nail[1] - target[1])
    )
    return Start(target, vector, table.fingers, height=height, farthest=farthest)


def _picked(scene: Scene, start: Start) -> Array:
    return scene.object[:, 2] >= start.height + _LIFT_HAMMER - 0.01


def nail_head(scene: Scene) -> Array:
    """Return the position of the nail's head, whose site in the model stays where it started."""
    return scene.nail_start + scene.nail_depth * _INWARDS


def _nail_to_go(nail: Array, start: Start) -> Array:
    return np.abs(nail[:, 1] - start.target[:, 1])


def hammer_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching, picking and hitting: head to nail plus nail to board."""
    reach = distance(scene.fingers, scene.object)
    nail = nail_head(scene)
    to_nail = distance(scene.head, nail)
    to_go = to_nail + _nail_to_go(nail, start)
    height = scene.object[:, 2]
    held = scene.latched & ~is_dropped(height, start.height, to_nail, reach)
    pick = pick_term(height, start, start.height + _LIFT_HAMMER, reach, held)
    hit = np.maximum(goal_term(to_go, start.farthest), 0.0)
    return -reach + close_bonus(reach, grip) + pick + np.where(held & (reach < 0.1), hit, 0.0)


def _hammer_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward holding the hammer level with its head at the nail."""
    handle = scene.object.copy()
    # A grip anywhere along the handle is as good as in its middle.
    along = np.abs(handle[:, 0] - scene.hand[:, 0]) < 0.07
    handle[:, 0] = np.where(along, scene.hand[:, 0], handle[:, 0])
    grasp = caging(scene, start, grip, handle, radius=0.015, pad_reach=0.02, planar_reach=0.01)
    head = scene.object + _HEAD
    near = long_tail(distance(start.target, head), 0.0, 0.02, 0.2)
    in_place = 0.1 * (head[:, 2] > 0.02) + 0.9 * near
    level = np.maximum(1.0 - distance(scene.quaternion, _FLAT) / 0.4, 0.0)
    reward = (2.0 * grasp + 6.0 * in_place) * level
    return np.where(_is_driven_in(scene, start) & (reward > 5.0), 10.0, reward)


def _is_driven_in(scene: Scene, start: Start) -> Array:
    return scene.nail_depth[:, 0] > 0.09


_HAMMER = Task(
    name="hammer",
    model="sawyer_hammer.xml",
    hand_start=(0.0, 0.4, 0.2),
    reset_low=(-0.1, 0.4, 0.0),
    reset_high=(0.1, 0.5, 0.0),
    goal=((0.2399, 0.7399, 0.109), (0.2401, 0.7401, 0.111)),
    fixture=Fixture("box", lambda vector: np.array([0.24, 0.85, 0.0])),
    object=body("hammer"),
    turned=body_quaternion("hammer"),
    second=body("nail_link"),
    second_turned=body_quaternion("nail_link"),
    shows_second=False,
    reads={
        "head": geom("HammerHead"),
        "nail_start": site("nailHead"),
        "nail_depth": joint("NailSlideJoint"),
    },
    place=_place_hammer,
    latch=_picked,
    reward_v1=hammer_v1,
    reward_v2=_hammer_v2,
    success_v1=lambda scene, start: _nail_to_go(nail_head(scene), start) <= 0.05,
    success_v2=_is_driven_in,
)


# Stick-pull: put the stick through the handle of the thermos and pull.
_RADIUS = 0.05
_STICK_HEIGHT = 0.02
_CONTAINER = np.array([0.05, 0.0, 0.0])  # offset of the middle from the handle
_SCALE = np.array([1.0, 1.0, 2.0])


def _place_stick(table: Table, vector: Array) -> Start:
    """Place stick and goal; the thermos is always at the same position."""
    stick = with_height(vector[:2], _STICK_HEIGHT)
    target = with_height(vector[3:5], _STICK_HEIGHT)
    table.set_joints(9, stick, still=slice(9, 15))
    table.forward()
    table.set_joints(16, np.array([0.0, 0.09]), still=slice(16, 17))
    table.forward()
    thermos, height = table.at(body("object")), table.at(body("stick"))[2]
    lift_height = height + LIFT
    return Start(
        target,
        thermos,
        table.fingers,
        tool=stick,
        height=height,
        farthest=distance(with_height(thermos, lift_height), stick) + lift_height,
        farthest_pull=planar(thermos, target),
    )


def stick_pull_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching and picking the stick, bringing it to the handle, and pulling."""
    stick, handle = scene.object, scene.second
    reach = distance(stick, scene.fingers)
    to_handle, to_go = distance(stick, handle), planar(handle, start.target)
    height, lift_height = stick[:, 2], start.height + LIFT
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


def _stick_pull_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the stick, bringing it to the thermos and through the handle, and pulling."""
    stick, container = scene.object, scene.second + _CONTAINER
    away = distance(stick * _SCALE, container * _SCALE)
    away_at_start = distance(start.tool * _SCALE, (start.object + _CONTAINER) * _SCALE)
    at_container = long_tail(away, 0.0, _RADIUS, away_at_start)
    stick_to_go, container_to_go = (distance(each, start.target) for each in (stick, container))
    stick_at_target = long_tail(stick_to_go, 0.0, _RADIUS, distance(start.tool, start.target))
    container_at_target = long_tail(
        container_to_go, 0.0, _RADIUS, distance(start.object, start.target)
    )
    grasp = caging(scene, start, grip, radius=0.014, planar_reach=0.01)
    holds = (
        (distance(stick, scene.fingers) < 0.02)
        & (scene.opening > 0)
        & (stick[:, 2] - 0.01 > start.tool[:, 2])
    )
    reward = both(np.where(holds, 1.0, grasp), at_container)
    pulling = np.where(
        _is_pulled(scene, start), 10.0, 6.0 + reward + 2.0 * stick_at_target + container_at_target
    )
    holding = np.where(_inserted(scene), pulling, 1.0 + reward + 5.0 * at_container)
    return np.where(holds, holding, reward)


def _is_pulled_in_hand(scene: Scene, start: Start) -> Array:
    """Return True where the handle is within 8 cm of the goal and the stick is in the fingers."""
    return (planar(scene.second, start.target) <= 0.08) & (
        distance(scene.object, scene.fingers) <= 0.05
    )


def _is_pulled(scene: Scene, start: Start) -> Array:
    """Return True where the handle is within 12 cm of the goal and the stick is in it."""
    return (distance(scene.second, start.target) <= 0.12) & _inserted(scene)


_STICK_PULL = Task(
    name="stick-pull",
    model="sawyer_stick_obj.xml",
    hand_low=(-0.5, 0.35, 0.05),
    reset_low=(-0.1, 0.55, 0.0, 0.35, 0.45, 0.0199),
    reset_high=(0.0, 0.65, 0.001, 0.45, 0.55, 0.0201),
    minimum_distance=0.1,
    object=body("stick"),
    turned=body_rotation("stick"),
    second=site("insertion"),
    reads={"stick_end": site("stick_end")},
    place=_place_stick,
    reward_v1=stick_pull_v1,
    reward_v2=_stick_pull_v2,
    success_v1=_is_pulled_in_hand,
    success_v2=_is_pulled,
)

TOOLS = (_HAMMER, _STICK_PULL)
