"""Simulator of the Sawyer arm at one task, with Meta-World's physics bit for bit."""

import copy
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from recall.worlds.continual_world.models import CAMERAS, STATE, SUBSTEPS, load_physics
from recall.worlds.continual_world.observations import (
    Bound,
    ClassicObserver,
    FullObserver,
    Readings,
    take,
)
from recall.worlds.continual_world.roll import SawyerRoll
from recall.worlds.continual_world.starts import (
    START_SIZE,
    HandsAhead,
    checked_vector,
    draw_vector,
    flat,
    put,
    settle,
    settled,
    start_views,
)
from recall.worlds.continual_world.task import Scene, Start, Table, Task
from recall.worlds.simulator import Array, Simulator, Step, copied, unit_box

if TYPE_CHECKING:
    from recall.worlds.continual_world.camera import Camera

_METRES_PER_ACTION = 1.0 / 100
_SKIP_VELOCITY = int(mujoco.mjtStage.mjSTAGE_VEL)
_BOTH_FINGERS = np.array([1.0, -1.0])


class SawyerSimulator(Simulator):
    """Simulator of `slots` arms at one task, with one model and one MuJoCo data per slot.

    The slots share the model, so a slot's fixture is written into it before the slot is used.
    """

    reset_options = ("rand_vec",)
    cameras = CAMERAS
    criteria = ("success_v1", "success_v2")
    motion = slice(3)

    def __init__(self, task: Task, slots: int, reward: str, observation: str):
        self.task = task.name
        self.slots = slots
        self.action_space = unit_box(4)
        self._task = task
        self._arguments = {"task": task.name, "reward": reward, "observation": observation}
        # A copy, so that simulators of the same task can run in several threads.
        self._model = copy.copy(load_physics(task.name))
        self._data = [mujoco.MjData(self._model) for _ in range(slots)]
        self._fixture = None if task.fixture is None else self._model.body(task.fixture.body).pos
        self._fixture_at = np.zeros((slots, 3))
        self._vector = np.zeros((slots, len(task.reset_low)))
        self._mocap = np.zeros((slots, 3))
        self._hand_low, self._hand_high = np.array(task.hand_low), np.array(task.hand_high)
        self._clocks = [0.0] * slots  # simulation times after the last step, and before it
        self._clocks_before = self._clocks
        # True where positions, contacts and velocities in the data are up to date with its state.
        self._is_current = [False] * slots

        has_frames = observation == "full" or reward == "v2"
        self._rolls: dict[int, SawyerRoll] = {}
        self.readings = Readings(task, self._model, slots, has_frames)
        self.bound = [self.readings.bind(slot, data) for slot, data in enumerate(self._data)]
        self._inputs = [(data, data.mocap_pos[0], data.ctrl) for data in self._data]
        self.start_values = np.zeros((slots, START_SIZE))
        self.start = start_views(self.start_values)
        observer = FullObserver if observation == "full" else ClassicObserver
        self.observer = observer(task, self.readings, self.start)
        self.observation_space = self.observer.space
        self.observation = np.zeros((slots, *self.observation_space.shape))
        # Both are made when they are first needed.
        self._camera: Camera | None = None
        self._hands_ahead: HandsAhead | None = None
        self.reward = task.reward_v1 if reward == "v1" else task.reward_v2
        self.criterion = f"success_{reward}"
        self._physics_size = mujoco.mj_stateSize(self._model, STATE)
        self.state_size = self._physics_size + sum(part.shape[1] for part in self._memory())

    def _memory(self) -> tuple[Array, ...]:
        """Return the parts of a slot's state besides its physics, each [slots, n]."""
        latched = self.readings.scene.latched[:, None]
        return (
            self._vector,
            self.start_values,
            self.observer.previous,
            self.observation,
            latched,
        )

    def reset(
        self, slot: int, rng: np.random.Generator, options: Mapping[str, Any] | None = None
    ) -> Array:
        """Start an episode; `options["rand_vec"]` sets its start and goal."""
        given = None if options is None else options.get("rand_vec")
        task = self._task
        vector = draw_vector(task, rng) if given is None else checked_vector(task, given)
        data, scene = self._data[slot], self.readings.scene
        self._vector[slot] = vector
        self._put_fixture(slot)
        self._settle(slot)
        take(self.bound[slot])
        self.readings.derive(slice(slot, slot + 1))
        table = Table(self._model, data, scene.fingers[slot].copy())
        start = task.place(table, vector.copy())
        self.start_values[slot] = flat(start)
        self._is_current[slot] = table.is_current
        self._mocap[slot] = data.mocap_pos[0]
        self._clocks[slot] = data.time
        scene.latched[slot] = False
        take(self.bound[slot])
        self.readings.derive(slice(slot, slot + 1))
        self.observation[slot] = self.observer.first(slot)
        return self.observation[slot].copy()

    def expect(self, slot: int, rng: np.random.Generator) -> None:
        """Settle the hand of the slot's next episode in a thread, if its task settles anew."""
        if self._task.settles_anew:
            self._hands_ahead = self._hands_ahead or HandsAhead(self._task)
            self._hands_ahead.expect(slot, draw_vector(self._task, rng))

    def _put_fixture(self, slot: int) -> None:
        if self._task.fixture is not None and self._fixture is not None:
            self._fixture_at[slot] = self._task.fixture.at(self._vector[slot])
            self._fixture[:] = self._fixture_at[slot]

    def _settle(self, slot: int) -> None:
        model, data = self._model, self._data[slot]
        if not self._task.settles_anew:
            put(model, data, settled(self.task))
            return
        ahead = self._hands_ahead
        hand = None if ahead is None else ahead.take(slot, self._vector[slot])
        if hand is None:
            settle(model, data, self._task)
        else:
            put(model, data, hand)

    def step(self, actions: Array) -> Step:
        """Move every hand by up to a centimetre per direction, and its gripper."""
        # Keep the actions' own precision, as Meta-World does: after a difference of a millionth of
        # a millimetre, contacts would soon diverge from Meta-World's.
        grip = np.zeros(self.slots)
        self.move(np.minimum(np.maximum(actions, -1.0), 1.0), self.bound, grip)
        return self.result(grip)

    def result(self, grip: Array) -> Step:
        """Return the result of a step from the readings after its physics."""
        diverged = self._diverged()
        any_diverged = bool(np.count_nonzero(diverged))
        for slot in np.flatnonzero(diverged).tolist():
            # Settled, so that it can be computed with; its results are masked below.
            self._settle(slot)
            take(self.bound[slot])
            self._is_current[slot] = False
        self.readings.derive(slice(None))
        scene, start = self.readings.scene, self.start
        if self._task.latch is not None:
            scene.latched |= self._task.latch(scene, start)
        observation = self.observer.next()
        reward = self.reward(scene, start, grip)
        criteria = self.judged(scene, start)
        if any_diverged:
            observation[diverged] = self.observation[diverged]
            reward = np.where(diverged, 0.0, reward)
            criteria = {name: met & ~diverged for name, met in criteria.items()}
        self.observation[:] = observation
        never = np.zeros(self.slots, bool)
        success = criteria[self.criterion]
        return Step(observation, reward, never, never.copy(), success, diverged, criteria)

    def judged(self, scene: Scene, start: Start) -> dict[str, Array]:
        """Return where each of the criteria of success is met."""
        return {name: getattr(self._task, name)(scene, start) for name in self.criteria}

    def _step_slot(self, slot: int, control: Array, bound: Bound) -> float:
        """Run five substeps of one slot, take its readings, and return its simulation time."""
        model = self._model
        data, mocap, ctrl = self._inputs[slot]
        if self._fixture is not None:
            self._fixture[:] = self._fixture_at[slot]
        mocap[:] = self._mocap[slot]
        ctrl[:] = control
        if self._is_current[slot]:
            # The first substep without what the last forward pass has already computed: only
            # the hand's target and the controls have changed since.
            mujoco.mj_kinematics(model, data)
            mujoco.mj_makeConstraint(model, data)
            mujoco.mj_referenceConstraint(model, data)
            mujoco.mj_forwardSkip(model, data, _SKIP_VELOCITY, 1)
            mujoco.mj_Euler(model, data)
            mujoco.mj_step(model, data, SUBSTEPS - 1)
        else:
            mujoco.mj_step(model, data, SUBSTEPS)
        # A full forward pass, not only kinematics: it warm-starts the next solve, and without it
        # contacts drift away from Meta-World's.
        mujoco.mj_forward(model, data)
        self._is_current[slot] = True
        take(bound)
        return data.time

    # Rolls.

    def roll(self, steps: int) -> SawyerRoll | None:
        """Return a roll of up to `steps` steps; there is none with the `full` observation."""
        if isinstance(self.observer, FullObserver):
            return None
        if steps not in self._rolls:
            self._rolls[steps] = SawyerRoll(self, self._task, self._model, self._data, steps)
        return self._rolls[steps]

    def move(self, actions: Array, bound: list[Bound], grip: Array) -> bool:
        """Step the physics with actions that are within their bounds, and take the readings.

        Returns False if a slot's clock did not go on, which is a sign of divergence.
        """
        np.add(self._mocap, actions[:, :3] * _METRES_PER_ACTION, out=self._mocap)
        np.maximum(self._mocap, self._hand_low, out=self._mocap)
        np.minimum(self._mocap, self._hand_high, out=self._mocap)
        controls = actions[:, 3:] * _BOTH_FINGERS
        grip[:] = controls[:, 0]
        self._clocks_before = self._clocks
        step = self._step_slot
        self._clocks = [step(slot, each, bound[slot]) for slot, each in enumerate(controls)]
        return all(map(operator.gt, self._clocks, self._clocks_before))

    def _diverged(self) -> Array:
        """Return the slots where MuJoCo reset its time, left NaN, or threw an object away."""
        goes_on = np.array(list(map(operator.gt, self._clocks, self._clocks_before)))
        return ~(goes_on & self.readings.are_sound())

    def get_state(self, slot: int) -> Array:
        """Return the physics, then the rest of the slot's state."""
        physics = np.zeros(self._physics_size)
        mujoco.mj_getState(self._model, self._data[slot], physics, STATE)
        return np.concatenate([physics, *(part[slot] for part in self._memory())])

    def set_state(self, slot: int, state: Array) -> None:
        """Continue from a state that `get_state` returned."""
        data = self._data[slot]
        mujoco.mj_setState(self._model, data, state[: self._physics_size], STATE)
        at = self._physics_size
        for part in self._memory():
            part[slot] = state[at : at + part.shape[1]]
            at += part.shape[1]
        self._put_fixture(slot)
        self._mocap[slot] = data.mocap_pos[0]
        self._clocks[slot] = data.time
        self._is_current[slot] = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the slots' states; a copy of MuJoCo's data would lose our views."""
        from recall.worlds.continual_world import make_simulator

        return copied(self, make_simulator, **self._arguments)

    def render(
        self, slot: int, width: int = 480, height: int = 480, camera_name: str | None = None
    ) -> Array:
        """Return an RGB image of the slot with its goal, drawn offscreen."""
        from recall.worlds.continual_world.camera import Camera

        if self._camera is None or self._camera.view != (width, height, camera_name):
            self._close_camera()
            self._camera = Camera(self._task, width, height, camera_name)
        goal = self.start.target[slot]
        return self._camera.picture(self._data[slot], self._fixture_at[slot], goal)

    def close(self) -> None:
        """Release the camera's memory, and end the thread in which hands settle."""
        self._close_camera()
        if self._hands_ahead is not None:
            self._hands_ahead.close()
            self._hands_ahead = None

    def _close_camera(self) -> None:
        if self._camera is not None:
            self._camera.close()
            self._camera = None
