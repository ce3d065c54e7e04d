"""Task handle-press-side: press the handle down, from the side."""

import numpy as np

from recall.worlds.continual_world.rewards import both, distance, goal_term, long_tail
from recall.worlds.continual_world.tasks.task import Fixture, Scene, Start, Table, Task, site
from recall.worlds.simulator import Array

_RADIUS = 0.02


def place(table: Table, vector: Array) -> Start:
    """Place the box, with its handle up."""
    table.set_joints(9, -0.001, still=slice(9, 10))
    table.forward()
    target, handle = table.site("goalPress"), table.site("handleStart")
    return Start(target, handle, table.fingers, farthest=abs(handle[2] - target[2]))


def _to_go(scene: Scene, start: Start) -> Array:
    return np.abs(scene.object[:, 2] - start.target[:, 2])


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the handle with the left finger, then pressing it."""
    reach = distance(scene.object, scene.left_finger)
    pressed = np.maximum(goal_term(_to_go(scene, start), start.farthest), 0.0)
    return -reach + np.where(reach < 0.05, pressed, 0.0)


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward the product of reaching and pressing."""
    to_go = _to_go(scene, start)
    in_place = long_tail(to_go, 0.0, _RADIUS, np.abs(start.farthest - _RADIUS))
    reach = long_tail(
        distance(scene.object, scene.fingers),
        0.0,
        0.02,
        np.abs(distance(start.object, start.fingers) - 0.02),
    )
    return 10.0 * np.where(to_go <= _RADIUS, 1.0, both(reach, in_place))


TASK = Task(
    name="handle-press-side",
    model="sawyer_handle_press_sideways.xml",
    hand_start=(0.0, 0.6, 0.2),
    reset_low=(-0.35, 0.65, -0.001),
    reset_high=(-0.25, 0.75, 0.001),
    goal_low=(-0.5, 0.40, 0.05),
    goal_high=(0.5, 1.0, 0.5),
    fixture=Fixture("box"),
    settles_anew=True,
    object=site("handleStart"),
    place=place,
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=lambda scene, start: _to_go(scene, start) <= 0.04,
    success_v2=lambda scene, start: _to_go(scene, start) <= _RADIUS,
)
