"""Tasks that move a handle: faucet-close, window-close, handle-press-side and peg-unplug-side."""

import numpy as np

from recall.worlds.continual_world.rewards import (
    both,
    caging,
    distance,
    gaussian,
    goal_term,
    long_tail,
    near_target,
    planar,
    push_reward,
    shaped_reach,
    within,
)
from recall.worlds.continual_world.task import (
    HAND_START,
    Criterion,
    Fixture,
    Scene,
    Start,
    Table,
    Task,
    body_quaternion,
    single,
    site,
)
from recall.worlds.simulator import Array


def _reached(scene: Scene, start: Start, tolerance: float) -> tuple[Array, Array]:
    """Return distance and margin of a modern reward's reaching term."""
    margin = np.abs(distance(start.object, start.fingers) - tolerance)
    return distance(scene.object, scene.fingers), margin


def _within_axis(axis: int, radius: float) -> Criterion:
    """Return the criterion that the object is within `radius` of its target along one axis."""
    return lambda scene, start: _along(axis, scene, start) <= radius


def _along(axis: int, scene: Scene, start: Start) -> Array:
    return np.abs(scene.object[:, axis] - start.target[:, axis])


# Faucet-close: turn the handle.
_TO_TARGET = np.array([-0.175, 0.0, 0.125])
_TURNED = 0.07


def _place_faucet(table: Table, vector: Array) -> Start:
    table.forward()
    target = vector + _TO_TARGET
    return Start(target, vector, table.fingers, farthest=distance(target, vector))


def _faucet_close_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the handle, then turning it."""
    reach = distance(scene.object, scene.fingers)
    turned = np.maximum(goal_term(distance(scene.object, start.target), start.farthest), 0.0)
    return -reach + np.where(reach < 0.05, turned, 0.0)


def _faucet_close_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching plus turning."""
    to_target = distance(scene.object, start.target)
    margin = np.abs(distance(start.object, start.target) - _TURNED)
    in_place = long_tail(to_target, 0.0, _TURNED, margin)
    to_handle, start_margin = _reached(scene, start, 0.01)
    reach = gaussian(to_handle, 0.0, 0.01, start_margin)
    return np.where(to_target <= _TURNED, 10.0, 2.0 * (2.0 * reach + 3.0 * in_place))


_FAUCET_CLOSE = Task(
    name="faucet-close",
    model="sawyer_faucet.xml",
    hand_start=(0.0, 0.4, 0.2),
    hand_low=(-0.5, 0.40, -0.15),
    reset_low=(-0.1, 0.8, 0.0),
    reset_high=(0.1, 0.85, 0.0),
    fixture=Fixture("faucetBase"),
    object=site("handleStartClose"),
    object_offset=(0.0, 0.0, -0.01),
    turned=body_quaternion("faucetBase"),
    place=_place_faucet,
    reward_v1=_faucet_close_v1,
    reward_v2=_faucet_close_v2,
    success_v1=within(0.05),
    success_v2=within(_TURNED),
)


# Window-close: slide the window shut.
_SHUT = 0.05
_OPEN = 0.2


def _place_window(table: Table, vector: Array) -> Start:
    """Place the open window.

    There is no forward pass: as in Meta-World, the first observation still shows the handle as it
    was while the hand settled, with the window at its place but shut.
    """
    handle = table.at(site("handleCloseStart")) + np.array([_OPEN, 0.0, 0.0])
    table.set_joints(9, _OPEN, still=slice(0))
    return Start(vector, handle, table.fingers)


def _window_close_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the handle, then sliding it. Only here may the goal term be negative."""
    reach = distance(scene.object, scene.fingers)
    return -reach + np.where(reach < 0.05, goal_term(_along(0, scene, start), _OPEN), 0.0)


def _window_close_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward the product of reaching and sliding."""
    start_to_go = np.abs(start.object[:, 0] - start.target[:, 0])
    in_place = long_tail(_along(0, scene, start), 0.0, _SHUT, np.abs(start_to_go - _SHUT))
    to_handle, margin = _reached(scene, start, 0.02)
    return 10.0 * both(gaussian(to_handle, 0.0, 0.02, margin), in_place)


_WINDOW_CLOSE = Task(
    name="window-close",
    model="sawyer_window_horizontal.xml",
    hand_start=single(0.0, 0.4, 0.2),
    reset_low=(0.0, 0.75, 0.2),
    reset_high=(0.0, 0.9, 0.2),
    fixture=Fixture("window"),
    object=site("handleCloseStart"),
    place=_place_window,
    reward_v1=_window_close_v1,
    reward_v2=_window_close_v2,
    success_v1=_within_axis(0, _SHUT),
    success_v2=_within_axis(0, _SHUT),
)


# Handle-press-side: press the handle down, from the side.
_PRESSED = 0.02


def _place_press(table: Table, vector: Array) -> Start:
    """Place the box, with its handle up."""
    table.set_joints(9, -0.001, still=slice(9, 10))
    table.forward()
    target, handle = table.at(site("goalPress")), table.at(site("handleStart"))
    return Start(target, handle, table.fingers, farthest=abs(handle[2] - target[2]))


def _handle_press_side_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the handle with the left finger, then pressing it."""
    reach = distance(scene.object, scene.left_finger)
    pressed = np.maximum(goal_term(_along(2, scene, start), start.farthest), 0.0)
    return -reach + np.where(reach < 0.05, pressed, 0.0)


def _handle_press_side_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward the product of reaching and pressing."""
    to_go = _along(2, scene, start)
    in_place = long_tail(to_go, 0.0, _PRESSED, np.abs(start.farthest - _PRESSED))
    to_handle, margin = _reached(scene, start, 0.02)
    reach = long_tail(to_handle, 0.0, 0.02, margin)
    return 10.0 * np.where(to_go <= _PRESSED, 1.0, both(reach, in_place))


_HANDLE_PRESS_SIDE = Task(
    name="handle-press-side",
    model="sawyer_handle_press_sideways.xml",
    reset_low=(-0.35, 0.65, -0.001),
    reset_high=(-0.25, 0.75, 0.001),
    fixture=Fixture("box"),
    settles_anew=True,
    object=site("handleStart"),
    place=_place_press,
    reward_v1=_handle_press_side_v1,
    reward_v2=_handle_press_side_v2,
    success_v1=_within_axis(2, 0.04),
    success_v2=_within_axis(2, _PRESSED),
)


# Peg-unplug-side: pull the peg out of the wall, sideways.
_PLUG = np.array([0.044, 0.0, 0.131])  # position in the wall, in the frame of the box
_OUT = np.array([0.15, 0.0, 0.0])
_UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def _place_peg(table: Table, vector: Array) -> Start:
    """Place the box, with the peg in its wall.

    Meta-World zeroes the peg's linear velocity but not its spin, which comes from falling on the
    table while the hand settled.
    """
    plug = vector + _PLUG
    table.set_joints(9, np.concatenate([plug, _UPRIGHT]), still=slice(9, 12))
    table.forward()
    target, peg = plug + _OUT, table.at(site("pegEnd"))
    return Start(target, peg, table.fingers, farthest=distance(target, peg))


def _peg_unplug_side_v1(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward reaching the peg from above, closing the fingers, then pulling."""
    reach = shaped_reach(scene.fingers, scene.object, HAND_START[2], grip)
    return push_reward(scene, start, reach)


def _peg_unplug_side_v2(scene: Scene, start: Start, grip: Array) -> Array:
    """Reward caging the peg, then bringing it to the goal."""
    to_target, in_place = near_target(scene, start)
    grasp = caging(scene, start, grip, radius=0.025, planar_reach=0.005, effort=0.8)
    pulled = (scene.opening > 0.5) & (scene.object[:, 0] - start.object[:, 0] > 0.015)
    holds = pulled & (distance(scene.object, scene.fingers) < 0.035)
    reward = 2.0 * grasp + np.where(holds, 1.0 + 5.0 * in_place, 0.0)
    return np.where(to_target <= 0.05, 10.0, reward)


_PEG_UNPLUG_SIDE = Task(
    name="peg-unplug-side",
    model="sawyer_peg_unplug_side.xml",
    reset_low=(-0.25, 0.6, -0.001),
    reset_high=(-0.15, 0.8, 0.001),
    goal=((-0.25 + 0.194, 0.6, -0.001 + 0.131), (-0.15 + 0.194, 0.8, 0.001 + 0.131)),
    fixture=Fixture("box"),
    settles_anew=True,
    object=site("pegEnd"),
    turned=body_quaternion("plug1"),
    place=_place_peg,
    reward_v1=_peg_unplug_side_v1,
    reward_v2=_peg_unplug_side_v2,
    success_v1=within(0.07, planar),
    success_v2=within(0.07),
)

HANDLES = (_FAUCET_CLOSE, _WINDOW_CLOSE, _HANDLE_PRESS_SIDE, _PEG_UNPLUG_SIDE)
