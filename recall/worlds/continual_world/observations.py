"""Readings from each slot's physics, and the observations made of them."""

from collections.abc import Sequence

import mujoco
import numpy as np
from gymnasium.spaces import Box

from recall.worlds.continual_world.rewards import distance
from recall.worlds.continual_world.task import Scene, Source, Start, Task, body, site
from recall.worlds.simulator import Array

_COMMON = {
    "raw_hand": body("hand"),
    "right_claw": body("rightclaw"),
    "left_claw": body("leftclaw"),
    "right_pad": body("rightpad"),
    "left_pad": body("leftpad"),
    "right_finger": site("rightEndEffector"),
    "left_finger": site("leftEndEffector"),
}
# Contacts that overlap too deeply throw an object away. MuJoCo intervenes only at ten million
# kilometres, and long before that one reward outweighs all others. A mere fall ends far below.
FARTHEST_METRES = 100.0
Bound = list[tuple[Array, Array, Array]]  # arguments of `take` for one slot
FRAME = 18  # numbers per frame of the `full` observation
HAND_LOW = np.array([-0.525, 0.348, -0.0525])
HAND_HIGH = np.array([0.525, 1.025, 0.7])
# Wide enough for goals after a reset, which Meta-World does not clip.
_GOAL_LOW = np.array([-1.0, 0.0, -0.5])
_GOAL_HIGH = np.array([1.0, 1.5, 1.0])


class Readings:
    """Numbers [slots, features] that observations and rewards read; `scene` has views by name.

    `frames` [slots, FRAME], if there are any, are those of the `full` observation: hand, gripper,
    and two objects with rotations.
    """

    def __init__(self, task: Task, model: mujoco.MjModel, slots: int, has_frames: bool):
        self._task = task
        sources = {**_COMMON, "raw_object": task.object, **task.reads}
        for name in ("second", "turned", "second_turned") if has_frames else ("second",):
            if (source := getattr(task, name)) is not None:
                sources[name] = source
        fields = sorted({source.field for source in sources.values()})
        blank = mujoco.MjData(model)
        self.scene = Scene()
        self._takes: list[tuple[str, Array, int, int]] = []
        places: dict[str, tuple[int, int]] = {}
        width = 0
        for field in fields:
            begin, index = width, []
            for name, source in sources.items():
                if source.field == field:
                    rows = _flat_index(model, blank, source)
                    places[name] = (width, width + rows.size)
                    width += rows.size
                    index.append(rows)
            self._takes.append((field, np.concatenate(index), begin, width))
        self.values = np.zeros((slots, width))
        for name, (begin, end) in places.items():
            setattr(self.scene, name, self.values[:, begin:end])
        self.offset = None if task.object_offset is None else np.array(task.object_offset)
        scene = self.scene
        scene.fingers = np.zeros((slots, 3))
        scene.hand = np.zeros((slots, 3))
        scene.latched = np.zeros(slots, bool)
        scene.object = scene.raw_object if self.offset is None else np.zeros_like(scene.raw_object)
        self.frames = np.zeros((slots, FRAME)) if has_frames else None
        if self.frames is not None:
            scene.opening, scene.quaternion = self.frames[:, 3], self.frames[:, 7:11]

    def bind(self, slot: int, data: mujoco.MjData) -> Bound:
        """Return the arguments of `take` for a slot: (field, indices in it, part of the row)."""
        return [
            (getattr(data, field).reshape(-1), index, self.values[slot, begin:end])
            for field, index, begin, end in self._takes
        ]

    def are_sound(self) -> Array:
        """Return the slots [slots] whose numbers are finite and whose objects are near enough."""
        squares = np.einsum("sf,sf->s", self.values, self.values)
        return squares <= FARTHEST_METRES**2  # false for NaN

    def derive(self, rows: slice) -> None:
        """Compute the derived parts of the scene after the rows are filled."""
        scene = self.scene
        fingers = scene.fingers[rows]
        np.add(scene.right_finger[rows], scene.left_finger[rows], out=fingers)
        fingers *= 0.5
        np.maximum(scene.raw_hand[rows], HAND_LOW, out=scene.hand[rows])
        np.minimum(scene.hand[rows], HAND_HIGH, out=scene.hand[rows])
        if self.offset is not None:
            np.add(scene.raw_object[rows], self.offset, out=scene.object[rows])
        if self.frames is None:
            return
        frames = self.frames[rows]
        frames[:, :3] = scene.raw_hand[rows]
        apart = distance(scene.right_claw[rows], scene.left_claw[rows]) / 0.1
        frames[:, 3] = np.minimum(apart, 1.0)
        frames[:, 4:7] = scene.object[rows]
        if self._task.turned is not None:
            frames[:, 7:11] = _quaternion(scene.turned[rows])
        if self._task.second is not None:
            frames[:, 11:14] = scene.second[rows]
        if self._task.second_turned is not None:
            frames[:, 14:18] = _quaternion(scene.second_turned[rows])


def take(bound: Bound) -> None:
    """Fill one slot's row from its physics."""
    for field, index, row in bound:
        field.take(index, out=row, mode="clip")


def _flat_index(model: mujoco.MjModel, data: mujoco.MjData, source: Source) -> Array:
    thing = getattr(model, source.kind)(source.name)
    if source.field == "qpos":
        return np.asarray(thing.qposadr)
    width = getattr(data, source.field)[0].size
    return np.arange(thing.id * width, (thing.id + 1) * width)


def _quaternion(turned: Array) -> Array:
    """Return the quaternions of rotation matrices [.., 9], with the real part last.

    Quaternions from MuJoCo are returned unchanged. The sign makes the largest component positive
    (Shepperd's method): the result is row i of four times the outer product of the quaternion with
    itself, normalised, where i is the largest component.
    """
    if turned.shape[-1] == 4:
        return turned
    xx, xy, xz, yx, yy, yz, zx, zy, zz = turned.T
    trace = xx + yy + zz
    outer = np.empty((turned.shape[0], 4, 4))
    outer[:, 0, 0] = 1.0 - trace + 2.0 * xx
    outer[:, 1, 1] = 1.0 - trace + 2.0 * yy
    outer[:, 2, 2] = 1.0 - trace + 2.0 * zz
    outer[:, 3, 3] = 1.0 + trace
    outer[:, 0, 1] = outer[:, 1, 0] = yx + xy
    outer[:, 0, 2] = outer[:, 2, 0] = zx + xz
    outer[:, 1, 2] = outer[:, 2, 1] = zy + yz
    outer[:, 0, 3] = outer[:, 3, 0] = zy - yz
    outer[:, 1, 3] = outer[:, 3, 1] = xz - zx
    outer[:, 2, 3] = outer[:, 3, 2] = yx - xy
    largest = np.argmax(np.stack([xx, yy, zz, trace], axis=1), axis=1)
    rows = outer[np.arange(len(largest)), largest]
    return rows / distance(rows, np.zeros(4))[:, None]


class ClassicObserver:
    """Observer of Continual World's 12 numbers: hand, object, second object and goal."""

    def __init__(self, task: Task, readings: Readings, start: Start):
        self._goal_low, self._goal_high = task.goal_box()
        self._scene, self._start = readings.scene, start
        has_second = task.second is not None and task.shows_second
        self._second = self._scene.second if has_second else np.zeros((len(readings.values), 3))
        self.previous = np.zeros((len(readings.values), 0))
        self.space = _space(1, 6)

    def goal(self) -> Array:
        """Return the goal as it is observed after a step."""
        return np.minimum(np.maximum(self._start.target, self._goal_low), self._goal_high)

    def first(self, slot: int) -> Array:
        """Return the observation of a slot after a reset; nothing is clipped."""
        scene = self._scene
        parts = (scene.raw_hand, scene.object, self._second, self._start.target)
        return np.concatenate([part[slot] for part in parts])

    def next(self) -> Array:
        """Return the observations of every slot after a step."""
        parts = (self._scene.hand, self._scene.object, self._second, self.goal())
        return np.concatenate(parts, axis=1)


class FullObserver(ClassicObserver):
    """Observer of Meta-World's 39 numbers: current frame, previous frame and goal."""

    def __init__(self, task: Task, readings: Readings, start: Start):
        super().__init__(task, readings, start)
        assert readings.frames is not None
        self._frames = readings.frames
        self.previous = np.zeros_like(self._frames)
        self.space = _space(2, 14, [0.0], [1.0])

    def first(self, slot: int) -> Array:
        """Return the observation of a slot after a reset; nothing is clipped."""
        frame = self._frames[slot]
        self.previous[slot] = frame
        return np.concatenate([frame, frame, self._start.target[slot]])

    def next(self) -> Array:
        """Return the observations of every slot after a step."""
        shown = np.concatenate([self._frames, self.previous, self.goal()], axis=1)
        self.previous[:] = self._frames
        shown[:, 0:3] = self._scene.hand
        np.clip(shown[:, 18:21], HAND_LOW, HAND_HIGH, out=shown[:, 18:21])
        return shown


def _space(frames: int, objects: int, low: Sequence[float] = (), high: Sequence[float] = ()) -> Box:
    """Return the space of frames, with the gripper's bounds and unbounded objects, and goal."""
    free = np.full(objects, np.inf)
    return Box(
        np.concatenate([*frames * (HAND_LOW, low, -free), _GOAL_LOW]),
        np.concatenate([*frames * (HAND_HIGH, high, free), _GOAL_HIGH]),
        dtype=np.float64,
    )
