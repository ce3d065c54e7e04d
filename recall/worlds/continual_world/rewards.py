"""Terms of which the tasks' rewards consist. Every argument has a leading slots axis.

Classic rewards (v1) reach, pick, then bring to the goal. Modern ones (v2) multiply tolerances.
"""

from collections.abc import Callable

import numpy as np

from recall.worlds.continual_world.task import Criterion, Scene, Start
from recall.worlds.simulator import Array

# Keeps 0 / 0 at 0 without a branch; far below any distance that matters.
_TINY = 1e-30


def distance(a: Array, b: Array) -> Array:
    """Return the length of a - b along the last axis."""
    difference = a - b
    return np.sqrt(np.vecdot(difference, difference))


def planar(a: Array, b: Array) -> Array:
    """Return the distance on the table, ignoring heights."""
    return distance(a[..., :2], b[..., :2])


def within(radius: float, measure: Callable[[Array, Array], Array] = distance) -> Criterion:
    """Return the criterion of success that the object is within `radius` of its target."""
    return lambda scene, start: measure(scene.object, start.target) <= radius


# Classic rewards.


def goal_term(x: Array, farthest: Array | float, peak: float = 1000.0) -> Array:
    """Return a term that is linear in the remaining distance x, with two peaks at zero."""
    squared = x * x
    peaks = np.exp(squared / -0.01) + np.exp(squared / -0.001)
    return 1000.0 * (farthest - x) + peak * peaks


def close_bonus(reach: Array, grip: Array) -> Array:
    """Return the bonus for closing the fingers around the object."""
    return np.where(reach < 0.05, np.maximum(grip, 0.0) / 50.0, 0.0)


def shaped_reach(fingers: Array, target: Array, start_height: Array | float, grip: Array) -> Array:
    """Reward moving over the object at the start height, then down, then closing the fingers."""
    reach, over = distance(fingers, target), planar(fingers, target)
    height_lost = np.abs(fingers[..., 2] - start_height)
    direct = (over < 0.05) | (reach < 0.05)
    return np.where(direct, -reach, -over - 2.0 * height_lost) + close_bonus(reach, grip)


def push_reward(scene: Scene, start: Start, reach_term: Array) -> Array:
    """Reward pushing the object to the goal on the table, while the fingers are at the object."""
    reach = distance(scene.fingers, scene.object)
    pushed = np.maximum(goal_term(planar(scene.object, start.target), start.farthest), 0.0)
    return reach_term + np.where(reach < 0.05, pushed, 0.0)


def is_dropped(height: Array, start_height: Array | float, to_goal: Array, reach: Array) -> Array:
    """Return True where the object is back on the ground, away from goal and fingers."""
    return (height < start_height + 0.005) & (to_goal > 0.02) & (reach > 0.02)


def pick_term(height: Array, start: Start, lift_height: Array, reach: Array, held: Array) -> Array:
    """Return the reward for lifting, up to the lift height; `held` is picked and not dropped."""
    lifting = (reach < 0.1) & (height > start.height + 0.005)
    partial = np.where(lifting, np.minimum(lift_height, height), 0.0)
    return 100.0 * np.where(held, lift_height, partial)


# Modern rewards.


def _outside(x: Array, low: float, high: float, margin: Array | float) -> Array:
    """Return how far x lies outside of [low, high], in units of `margin`."""
    return np.maximum(np.maximum(low - x, x - high), 0.0) / np.maximum(margin, _TINY)


def long_tail(x: Array, low: float, high: float, margin: Array | float) -> Array:
    """Return 1 within [low, high], 0.1 at one margin outside, and a long tail beyond."""
    outside = _outside(x, low, high, margin)
    # 9 = 1 / 0.1 - 1
    return 1.0 / (9.0 * outside * outside + 1.0)


def gaussian(x: Array, low: float, high: float, margin: Array | float) -> Array:
    """Return 1 within [low, high], 0.1 at one margin outside, and a fast decay beyond."""
    outside = _outside(x, low, high, margin)
    return np.exp(np.log(0.1) * outside * outside)


def near_target(scene: Scene, start: Start) -> tuple[Array, Array]:
    """Return the object's distance to its target, and the reward for coming nearer."""
    to_target = distance(scene.object, start.target)
    return to_target, long_tail(to_target, 0.0, 0.05, distance(start.object, start.target))


def both(a: Array, b: Array) -> Array:
    """Return the Hamacher product, which is near 1 only where both arguments are."""
    product = a * b
    return product / np.maximum(a + b - product, _TINY)


def caging(
    scene: Scene,
    start: Start,
    grip: Array,
    target: Array | None = None,
    *,
    radius: float,
    planar_reach: float,
    pad_reach: float = 0.05,
    effort: float = 1.0,
    dense: bool = True,
) -> Array:
    """Reward fingers that are around `target`, by default the object, and closing."""
    target = scene.object if target is None else target
    target_y, start_y = target[..., 1], start.object[..., 1]
    sides = [
        long_tail(
            np.abs(pad - target_y), radius, pad_reach, np.abs(np.abs(pad - start_y) - pad_reach)
        )
        for pad in (scene.left_pad[..., 1], scene.right_pad[..., 1])
    ]
    margin = distance(start.object[..., ::2], start.fingers[..., ::2]) - planar_reach
    to_target = distance(scene.fingers[..., ::2], target[..., ::2])
    caged = both(both(*sides), long_tail(to_target, 0.0, planar_reach, margin))
    closed = np.minimum(np.maximum(grip, 0.0), effort) / effort
    gripped = both(caged, np.where(caged > 0.97, closed, 0.0))
    return (gripped + caged) / 2.0 if dense else gripped
