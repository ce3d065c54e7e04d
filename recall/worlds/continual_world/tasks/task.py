"""What a task declares, and the words it declares it in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from recall.worlds.simulator import Array

# Arrays under the names a task gave them, each with a leading slots axis.
Scene = SimpleNamespace


class Source(NamedTuple):
    """Numbers of MuJoCo's data: a field, and the named thing whose row of it is read."""

    field: str
    kind: str
    name: str


def body(name: str) -> Source:
    """Where a body is."""
    return Source("xpos", "body", name)


def site(name: str) -> Source:
    """Where a site is."""
    return Source("site_xpos", "site", name)


def geom(name: str) -> Source:
    """Where a geom is."""
    return Source("geom_xpos", "geom", name)


def joint(name: str) -> Source:
    """How far a slide joint has moved."""
    return Source("qpos", "joint", name)


def body_quaternion(name: str) -> Source:
    """How a body is turned, real part first, as MuJoCo has it."""
    return Source("xquat", "body", name)


def body_rotation(name: str) -> Source:
    """How a body is turned; observed as a quaternion with the real part last."""
    return Source("xmat", "body", name)


def geom_rotation(name: str) -> Source:
    """How a geom is turned; observed as a quaternion with the real part last."""
    return Source("geom_xmat", "geom", name)


class Start(NamedTuple):
    """What an episode's rewards remember of its start; [slots, 3] or [slots] in a simulator."""

    target: Array  # where the object has to go
    object: Array  # where the moved object was
    fingers: Array  # the finger midpoint after the hand has settled
    tool: Array = np.zeros(3)  # where the held tool was, if it is not the object
    height: Array = np.zeros(())  # of the lifted thing
    farthest: Array = np.zeros(())  # x_max of the goal term
    farthest_pull: Array = np.zeros(())  # of the second goal term


class Table(Protocol):
    """The one slot that a task's `place` arranges.

    Positions are as of the last `forward`, before it as of the settling's last substep.
    """

    fingers: Array

    def body(self, name: str) -> Array:
        """Where a body is."""

    def site(self, name: str) -> Array:
        """Where a site is."""

    def geom(self, name: str) -> Array:
        """Where a geom is."""

    def site_offset(self, name: str) -> Array:
        """Where a site is in its body's frame."""

    def set_joints(self, first: int, values: Array | float, still: slice) -> None:
        """Write joint positions from number `first` on, stop the velocities of `still`."""

    def forward(self) -> None:
        """Recompute positions and contacts."""


@dataclass(frozen=True)
class Task:
    """One task, as data and plain functions over all slots.

    `place` receives a table with the hand settled and the fixture in place, and the reset
    vector, and does what Meta-World's reset does: as many `forward` calls too, since each
    warms up the next solve.
    """

    name: str
    model: str
    hand_start: tuple[float, float, float]
    reset_low: tuple[float, ...]
    reset_high: tuple[float, ...]
    goal_low: tuple[float, float, float]
    goal_high: tuple[float, float, float]
    object: Source
    place: Callable[[Table, Array], Start]
    reward_v1: Callable[[Scene, Start, Array], Array]  # (scene, start, gripper action [slots])
    reward_v2: Callable[[Scene, Start, Array], Array]
    success: Callable[[Scene, Start], Array]
    hand_low: tuple[float, float, float] = (-0.5, 0.40, 0.05)
    hand_high: tuple[float, float, float] = (0.5, 1.0, 0.5)
    turned: Source | None = None  # the object's rotation; None is observed as zeros
    object_offset: tuple[float, float, float] | None = None
    second: Source | None = None
    second_turned: Source | None = None
    reads: Mapping[str, Source] = field(default_factory=dict)
    classic: tuple[str, str, str] | None = None  # replaces object, second, goal in `classic`
    minimum_distance: float = 0.0  # on the table, between the object's start and its goal
    fixture: str | None = None  # a body without joints
    fixture_at: Callable[[Array], Array] | None = None  # where the reset vector puts it
    # The hand or a loose object meets the fixture while the hand settles, so one settled state
    # for all vectors would be wrong.
    settles_anew: bool = False
    latch: Callable[[Scene, Start], Array] | None = None  # once true, true for the episode


def with_height(position: Array, height: Any) -> Array:
    """The position's x and y at another height."""
    return np.array([position[0], position[1], height])
