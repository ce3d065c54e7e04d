"""Task window-close: slide the window shut."""

import numpy as np

from recall.worlds.continual_world.rewards import both, distance, gaussian, goal_term, long_tail
from recall.worlds.continual_world.tasks.task import Fixture, Scene, Start, Table, Task, site
from recall.worlds.simulator import Array

_RADIUS = 0.05
_OPEN = 0.2
_SLIDE = 9
# Single precision, as in Meta-World.
_HAND_START = (0.0, float(np.float32(0.4)), float(np.float32(0.2)))


def place(table: Table, vector: Array) -> Start:
    """Place the open window.

    There is no forward pass: as in Meta-World, the first observation still shows the handle as it
    was while the hand settled, with the window at its place but shut.
    """
    handle = table.site("handleCloseStart") + np.array([_OPEN, 0.0, 0.0])
    table.set_joints(_SLIDE, _OPEN, still=slice(0))
    return Start(vector, handle, table.fingers)


def _to_go(scene: Scene, start: Start) -> Array:
    return np.abs(scene.object[:, 0] - start.target[:, 0])


def reward_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the handle, then sliding it. Only here may the goal term be negative."""
    reach = distance(scene.object, scene.fingers)
    return -reach + np.where(reach < 0.05, goal_term(_to_go(scene, start), _OPEN), 0.0)


def reward_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward the product of reaching and sliding."""
    start_to_go = np.abs(start.object[:, 0] - start.target[:, 0])
    in_place = long_tail(_to_go(scene, start), 0.0, _RADIUS, np.abs(start_to_go - _RADIUS))
    reach = gaussian(
        distance(scene.object, scene.fingers),
        0.0,
        0.02,
        np.abs(distance(start.object, start.fingers) - 0.02),
    )
    return 10.0 * both(reach, in_place)


TASK = Task(
    name="window-close",
    model="sawyer_window_horizontal.xml",
    hand_start=_HAND_START,
    reset_low=(0.0, 0.75, 0.2),
    reset_high=(0.0, 0.9, 0.2),
    goal_low=(-0.5, 0.40, 0.05),
    goal_high=(0.5, 1.0, 0.5),
    fixture=Fixture("window"),
    object=site("handleCloseStart"),
    place=place,
    reward_v1=reward_v1,
    reward_v2=reward_v2,
    success_v1=lambda scene, start: _to_go(scene, start) <= _RADIUS,
    success_v2=lambda scene, start: _to_go(scene, start) <= _RADIUS,
)
