"""Pointworld: point-mass reaching tasks that show in a minute what Continual World shows in a day.

A force drives a point towards a goal. The tasks differ in how they rotate the force, in drag, and
in reward scale: some pay a thousand times more than others, and naive replay then neglects new
tasks. As in Continual World, a step far from the goal costs the distance and one at it pays more.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

from recall.errors import BadValueError
from recall.worlds.simulator import Array, Simulator, Step, unit_box

HORIZON_STEPS = 50
SUCCESS_DISTANCE = 0.1
REWARD_WIDTH = 0.15
FORCE = 0.03  # velocity gained in one step at full force


class PointTask(NamedTuple):
    """Parameters in which the tasks differ."""

    scale: float  # factor of every reward
    turn: tuple[tuple[float, float], tuple[float, float]]  # force = turn @ action
    drag: float  # fraction of the velocity kept in a step
    goal: tuple[float, float]  # centre of the square that goals are drawn from


_TASKS = {
    "point-slide": PointTask(1.0, ((0, -1), (1, 0)), 0.85, (-0.5, -0.5)),
    "point-rich": PointTask(1000.0, ((1, 0), (0, 1)), 0.7, (0.5, 0.5)),
    "point-poor": PointTask(1.0, ((-1, 0), (0, -1)), 0.7, (-0.5, 0.5)),
    "point-swap": PointTask(1000.0, ((0, 1), (1, 0)), 0.5, (0.5, -0.5)),
}
TASKS = tuple(_TASKS)
_GOAL_SPREAD = 0.3
_START_SPREAD = 0.3
_BOUND = 1.5

# Colours of images.
_OUTSIDE, _FLOOR = (226, 229, 234), (250, 250, 247)
_GOAL, _POINT, _TAIL = (46, 160, 67), (31, 78, 140), (150, 178, 214)
_POINT_RADIUS = 0.06
_TAIL_STEPS = 5.0  # number of steps of movement that the tail shows
_MARGIN = 1.04
_FINE = 4


def reward(distance: Array, scale: float) -> Array:
    """Return the negative distance, plus up to 1 near the goal, times `scale`."""
    return scale * (np.exp(-((distance / REWARD_WIDTH) ** 2)) - distance)


class PointSimulator(Simulator):
    """Simulator that holds all slots of one task in one array."""

    reset_options = ("rand_vec",)

    def __init__(self, task: str, slots: int):
        self.task, self.slots = task, slots
        self._spec = _TASKS[task]
        self._turn = np.array(self._spec.turn, np.float64)
        self._state = np.zeros((slots, 6))  # position, velocity, goal: the observation itself
        self.observation_space = Box(-2.0, 2.0, (6,), np.float64)
        self.action_space = unit_box(2)
        self.state_size = 6

    def reset(
        self, slot: int, rng: np.random.Generator, options: Mapping[str, Any] | None = None
    ) -> Array:
        """Start an episode near the middle, at rest, with a goal in the task's own square."""
        if options and "rand_vec" in options:
            vector = np.asarray(options["rand_vec"], np.float64)
            if vector.shape != (4,) or not np.isfinite(vector).all():
                raise BadValueError(
                    f"rand_vec {options['rand_vec']!r} of {self.task}: expected 4 finite "
                    "numbers, the start's x, y and the goal's x, y"
                )
        else:
            start = rng.uniform(-_START_SPREAD, _START_SPREAD, 2)
            goal = self._spec.goal + rng.uniform(-_GOAL_SPREAD, _GOAL_SPREAD, 2)
            vector = np.concatenate([start, goal])
        self._state[slot] = np.concatenate([vector[:2], np.zeros(2), vector[2:]])
        return self._state[slot].copy()

    def step(self, actions: Array) -> Step:
        """Take a step of semi-implicit Euler with drag; the walls stop the point."""
        position, velocity, goal = self._state[:, :2], self._state[:, 2:4], self._state[:, 4:]
        force = np.clip(actions, -1.0, 1.0) @ self._turn.T
        velocity = self._spec.drag * velocity + FORCE * force
        moved = np.clip(position + velocity, -_BOUND, _BOUND)
        self._state[:, 2:4] = moved - position
        self._state[:, :2] = moved
        distance = np.linalg.norm(moved - goal, axis=1)
        no = np.zeros(self.slots, bool)
        return Step(
            observation=self._state.copy(),
            reward=reward(distance, self._spec.scale),
            terminated=no,
            truncated=no.copy(),
            success=distance < SUCCESS_DISTANCE,
            diverged=no.copy(),
        )

    def get_state(self, slot: int) -> Array:
        """Return position, velocity and goal."""
        return self._state[slot].copy()

    def set_state(self, slot: int, state: Array) -> None:
        """Set position, velocity and goal."""
        self._state[slot] = state

    def render(self, slot: int, width: int = 480, height: int = 480) -> Array:
        """Return an RGB image of the point, its goal and the walls."""
        return draw_point(self._state[slot], SUCCESS_DISTANCE, _BOUND, width, height)


def make_simulator(task: str, slots: int) -> PointSimulator:
    """Return a simulator of one of `TASKS`."""
    return PointSimulator(task, slots)


def draw_point(state: Array, goal_radius: float, bound: float, width: int, height: int) -> Array:
    """Return an RGB image [height, width, 3] uint8 of a point with a tail, and its goal."""
    from PIL import Image, ImageDraw  # not needed to act

    position, velocity, goal = state[:2], state[2:4], state[4:6]
    # Drawn finer and then reduced, which smooths the edges.
    canvas = Image.new("RGB", (_FINE * width, _FINE * height), _OUTSIDE)
    scale = min(canvas.size) / (2 * bound * _MARGIN)  # pixels of a unit of length
    draw = ImageDraw.Draw(canvas)

    def at(point: Array) -> tuple[float, float]:
        return canvas.width / 2 + scale * point[0], canvas.height / 2 - scale * point[1]

    def around(centre: Array, radius: float) -> tuple[float, ...]:
        (x, y), reach = at(centre), scale * radius
        return x - reach, y - reach, x + reach, y + reach

    draw.rectangle(around(np.zeros(2), bound), _FLOOR)
    line = 3 * _FINE
    draw.ellipse(around(goal, goal_radius + line / 2 / scale), outline=_GOAL, width=line)
    tail = [at(position - _TAIL_STEPS * velocity), at(position)]
    draw.line(tail, _TAIL, width=round(_POINT_RADIUS * scale))
    draw.ellipse(around(position, _POINT_RADIUS), _POINT)
    return np.array(canvas.reduce(_FINE))
