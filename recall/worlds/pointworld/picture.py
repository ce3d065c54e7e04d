"""Images of pointworld in plain NumPy, so that films can be made without GL."""

import numpy as np

from recall.worlds.simulator import Array

_OUTSIDE = np.array((226, 229, 234), np.float64)
_FLOOR = np.array((250, 250, 247), np.float64)
_GOAL = np.array((46, 160, 67), np.float64)
_POINT = np.array((31, 78, 140), np.float64)
_TAIL = np.array((150, 178, 214), np.float64)
_POINT_RADIUS = 0.06
_TAIL_STEPS = 5.0  # number of steps of movement that the tail shows
_MARGIN = 1.04


def draw_point(state: Array, goal_radius: float, bound: float, width: int, height: int) -> Array:
    """Return an RGB image [height, width, 3] uint8 of a state on a floor within walls.

    The state is position, velocity and goal. The goal is a ring with the radius of success; the
    point is a disc with a tail in proportion to its speed.
    """
    position, velocity, goal = state[:2], state[2:4], state[4:6]
    pixel = 2 * bound * _MARGIN / min(width, height)  # side of a pixel in the world's units
    x = (np.arange(width) + 0.5 - width / 2) * pixel
    y = -(np.arange(height) + 0.5 - height / 2) * pixel
    at = np.stack(np.meshgrid(x, y), axis=-1)  # [height, width, 2]
    canvas = np.broadcast_to(_OUTSIDE, (height, width, 3)).copy()
    _paint(canvas, np.abs(at).max(axis=-1) - bound, _FLOOR, pixel)
    _paint(canvas, _ring(at, goal, goal_radius, 1.5 * pixel), _GOAL, pixel)
    tail = _segment(at, position - _TAIL_STEPS * velocity, position)
    _paint(canvas, tail - 0.5 * _POINT_RADIUS, _TAIL, pixel)
    _paint(canvas, np.linalg.norm(at - position, axis=-1) - _POINT_RADIUS, _POINT, pixel)
    return canvas.round().astype(np.uint8)


def _paint(canvas: Array, distance: Array, colour: Array, pixel: float) -> None:
    """Colour pixels whose `distance` to a shape's edge is negative; edges are anti-aliased."""
    cover = np.clip(0.5 - distance / pixel, 0.0, 1.0)[..., np.newaxis]
    canvas += cover * (colour - canvas)


def _ring(at: Array, centre: Array, radius: float, half_width: float) -> Array:
    return np.abs(np.linalg.norm(at - centre, axis=-1) - radius) - half_width


def _segment(at: Array, start: Array, end: Array) -> Array:
    """Return the distance of every pixel to the line from `start` to `end`."""
    along = end - start
    share = np.clip((at - start) @ along / max(float(along @ along), 1e-12), 0.0, 1.0)
    return np.linalg.norm(at - start - share[..., np.newaxis] * along, axis=-1)
