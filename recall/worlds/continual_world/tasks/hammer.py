"""Task hammer: pick up the hammer and drive the nail in."""

import numpy as np

from recall.worlds.continual_world.rewards import (
    caging,
    close_bonus,
    distance,
    goal_term,
    is_dropped,
    long_tail,
    pick_term,
)
from recall.worlds.continual_world.tasks.task import (
    Fixture,
    Scene,
    Start,
    Table,
    Task,
    body,
    body_quaternion,
    geom,
    joint,
    site,
    with_height,
)
from recall.worlds.simulator import Array

_LIFT = 0.09
_HEAD = np.array([0.16, 0.06, 0.0])  # position of the head in the hammer's frame
_FLAT = np.array([1.0, 0.0, 0.0, 0.0])
_INWARDS = np.array([0.0, 1.0, 0.0])  # way of the nail


def place(table: Table, vector: Array) -> Start:
    """Place the hammer; the nail stays where it is."""
    target, nail = table.site("goal"), table.site("nailHead")
    table.set_joints(9, vector, still=slice(9, 15))
    table.forward()
    height = table.body("hammer")[2]
    lift_height = height + _LIFT
    farthest = (
        distance(with_height(vector, lift_height), nail) + lift_height + abs(nail[1] - target[1])
    )
    return Start(target, vector, table.fingers, height=height, farthest=farthest)


def picked(scene: Scene, start: Start) -> Array:
    """Return True where the hammer is lifted."""
    return scene.object[:, 2] >= start.height + _LIFT - 0.01


def _nail(scene: Scene) -> Array:
    """Return the position of the nail's head, whose site in the model stays where it started."""
    return scene.nail_start + scene.nail_depth * _INWARDS


def _nail_to_go(nail: Array, start: Start) -> Array:
    return np.abs(nail[:, 1] - start.target[:, 1])


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching, picking and hitting: head to nail plus nail to board."""
    reach = distance(scene.fingers, scene.object)
    nail = _nail(scene)
    to_nail = distance(scene.head, nail)
    to_go = to_nail + _nail_to_go(nail, start)
    height = scene.object[:, 2]
    held = scene.latched & ~is_dropped(height, start.height, to_nail, reach)
    pick = pick_term(height, start, start.height + _LIFT, reach, held)
    hit = np.maximum(goal_term(to_go, start.farthest), 0.0)
    return -reach + close_bonus(reach, grip) + pick + np.where(held & (reach < 0.1), hit, 0.0)


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward holding the hammer level with its head at the nail."""
    handle = scene.object.copy()
    # A grip anywhere along the handle is as good as in its middle.
    along = np.abs(handle[:, 0] - scene.hand[:, 0]) < 0.07
    handle[:, 0] = np.where(along, scene.hand[:, 0], handle[:, 0])
    grasp = caging(scene, start, grip, handle, radius=0.015, pad_reach=0.02, planar_reach=0.01)
    head = scene.object + _HEAD
    in_place = 0.1 * (head[:, 2] > 0.02) + 0.9 * long_tail(
        distance(start.target, head), 0.0, 0.02, 0.2
    )
    level = np.maximum(1.0 - distance(scene.quaternion, _FLAT) / 0.4, 0.0)
    reward = (2.0 * grasp + 6.0 * in_place) * level
    return np.where(success_v2(scene, start) & (reward > 5.0), 10.0, reward)


def success_v1(scene: Scene, start: Start) -> Array:
    """Return True where the nail's head is within 5 cm of its target."""
    return _nail_to_go(_nail(scene), start) <= 0.05


def success_v2(scene: Scene, start: Start) -> Array:
    """Return True where the nail is driven in."""
    return scene.nail_depth[:, 0] > 0.09


TASK = Task(
    name="hammer",
    model="sawyer_hammer.xml",
    hand_start=(0.0, 0.4, 0.2),
    reset_low=(-0.1, 0.4, 0.0),
    reset_high=(0.1, 0.5, 0.0),
    goal_low=(0.2399, 0.7399, 0.109),
    goal_high=(0.2401, 0.7401, 0.111),
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
    place=place,
    latch=picked,
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=success_v1,
    success_v2=success_v2,
)
