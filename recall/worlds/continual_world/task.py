"""Types with which a task is declared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import mujoco
import numpy as np

from recall.worlds.simulator import Array

HAND_START = (0.0, 0.6, 0.2)
LIFT = 0.04  # height at which most objects count as picked
# Arrays by the names that a task gives them, each with a leading slots axis.
Scene = SimpleNamespace


class Source(NamedTuple):
    """Source of numbers in MuJoCo's data: a field, and the named element whose row is read."""

    field: str
    kind: str
    name: str


class Fixture(NamedTuple):
    """A body without joints, and its position for a reset vector."""

    body: str
    at: Callable[[Array], Array] = lambda vector: vector


# Sources by the name of an element: positions, a slide joint's displacement, and rotations.
body = partial(Source, "xpos", "body")
site = partial(Source, "site_xpos", "site")
geom = partial(Source, "geom_xpos", "geom")
joint = partial(Source, "qpos", "joint")
body_quaternion = partial(Source, "xquat", "body")  # real part first, as in MuJoCo
# Observed as quaternions with the real part last.
body_rotation = partial(Source, "xmat", "body")
geom_rotation = partial(Source, "geom_xmat", "geom")


class Start(NamedTuple):
    """Values at an episode's start that rewards use; [slots, 3] or [slots] in a simulator."""

    target: Array  # goal position of the object
    object: Array  # initial position of the object to move
    fingers: Array  # midpoint of the fingers after the hand has settled
    tool: Array = np.zeros(3)  # initial position of the tool, if it is not the object
    height: Array = np.zeros(())  # initial height of what is lifted
    farthest: Array = np.zeros(())  # x_max of the goal term
    farthest_pull: Array = np.zeros(())  # x_max of the second goal term


class Table:
    """One slot, which a task's `place` arranges.

    Positions are those of the last `forward`, or before that of the last settling substep.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, fingers: Array):
        self.fingers = fingers
        self.is_current = False
        self._model, self._data = model, data

    def at(self, source: Source) -> Array:
        """Return the position of a body, site or geom."""
        return np.array(getattr(self._data, source.kind)(source.name).xpos)

    def site_offset(self, name: str) -> Array:
        """Return the position of a site in its body's frame."""
        return self._model.site(name).pos.copy()

    def set_joints(self, first: int, values: Array | float, still: slice) -> None:
        """Write joint positions from index `first` on, and zero the velocities of `still`."""
        values = np.atleast_1d(values)
        self._data.qpos[first : first + values.size] = values
        self._data.qvel[still] = 0.0
        self.is_current = False

    def forward(self) -> None:
        """Recompute positions and contacts."""
        mujoco.mj_forward(self._model, self._data)
        self.is_current = True


Place = Callable[[Table, Array], Start]
Reward = Callable[[Scene, Start, Array], Array]  # (scene, start, gripper action [slots])
Criterion = Callable[[Scene, Start], Array]


@dataclass(frozen=True)
class Task:
    """Declaration of a task: data, and functions over all slots.

    `place` receives the reset vector and a table with the hand settled and the fixture in place.
    It does what Meta-World's reset does, with the same number of `forward` calls, since each of
    them warm-starts the next solve.
    """

    name: str
    model: str
    reset_low: tuple[float, ...]
    reset_high: tuple[float, ...]
    object: Source
    place: Place
    reward_v1: Reward
    reward_v2: Reward
    success_v1: Criterion
    success_v2: Criterion
    hand_start: tuple[float, ...] = HAND_START
    hand_low: tuple[float, float, float] = (-0.5, 0.40, 0.05)
    hand_high: tuple[float, float, float] = (0.5, 1.0, 0.5)
    # Box of the observed goal. None: that of the goal in the reset vector, or else the hand's.
    goal: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    turned: Source | None = None  # rotation of the object; None is observed as zeros
    object_offset: tuple[float, float, float] | None = None
    second: Source | None = None
    second_turned: Source | None = None
    shows_second: bool = True  # in the `classic` observation; False is observed as zeros
    reads: Mapping[str, Source] = field(default_factory=dict)
    minimum_distance: float = 0.0  # between the object's start and goal, on the table
    fixture: Fixture | None = None
    # True if the hand or a loose object touches the fixture while the hand settles, so that one
    # settled state for all reset vectors would be wrong.
    settles_anew: bool = False
    latch: Criterion | None = None  # once true, stays true for the episode

    def goal_box(self) -> tuple[Array, Array]:
        """Return the box to which the observed goal is clipped."""
        drawn = len(self.reset_low) == 6
        box = (
            (self.reset_low[3:], self.reset_high[3:]) if drawn else (self.hand_low, self.hand_high)
        )
        low, high = self.goal or box
        return np.array(low), np.array(high)


def single(*position: float) -> tuple[float, ...]:
    """Return a position in single precision, in which Meta-World stores some hand's starts."""
    return tuple(float(np.float32(each)) for each in position)


def with_height(position: Array, height: Any) -> Array:
    """Return the position's x and y with another height."""
    return np.array([position[0], position[1], height])
