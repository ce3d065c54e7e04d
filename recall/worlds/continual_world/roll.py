"""Steps of the Sawyer simulator whose rewards are computed together, after the last one.

With few slots, NumPy's calls cost as much as the physics, so what no action needs is computed for
all steps at once when the roll ends, by the same functions and to the same bits.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recall.worlds.continual_world.observations import (
    FARTHEST_METRES,
    HAND_HIGH,
    HAND_LOW,
    Bound,
    Readings,
)
from recall.worlds.continual_world.starts import start_views
from recall.worlds.continual_world.task import Scene, Start, Task
from recall.worlds.simulator import Array, Rolled, Step

if TYPE_CHECKING:
    import mujoco

    from recall.worlds.continual_world.sawyer import SawyerSimulator


class _StepViews(NamedTuple):
    """Parts of a roll's arrays that belong to one step, with one row for each slot."""

    bound: list[Bound]  # where each slot's readings go
    values: Array  # all readings, flat
    raw_hand: Array
    hand: Array  # part of the observation
    parts: list[tuple[Array, Array | None, Array]]  # source, offset, part of the observation
    grip: Array
    observation: Array


class SawyerRoll:
    """Up to `steps` steps of every slot, with the `classic` observation."""

    def __init__(
        self,
        simulator: "SawyerSimulator",
        task: Task,
        model: "mujoco.MjModel",
        data: list["mujoco.MjData"],
        steps: int,
    ):
        slots = simulator.slots
        self._simulator, self._task = simulator, task
        # A row for each step and slot, as if they were all slots of one simulator.
        has_frames = simulator.readings.frames is not None
        self._readings = Readings(task, model, steps * slots, has_frames)
        self._scene = self._readings.scene
        self._start = np.zeros((steps * slots, simulator.start_values.shape[1]))
        self._grip = np.zeros((steps, slots))
        self._observation = np.zeros((steps, slots, *simulator.observation_space.shape))
        self._views = [self._views_of(step, slots, data) for step in range(steps)]
        self._done = 0

    def _views_of(self, step: int, slots: int, data: list["mujoco.MjData"]) -> _StepViews:
        rows = slice(step * slots, (step + 1) * slots)
        shown = self._observation[step]
        # The object with its offset is derived after the roll, but observed at once.
        parts = [(self._scene.raw_object[rows], self._readings.offset, shown[:, 3:6])]
        if self._task.second is not None and self._task.shows_second:
            parts.append((self._scene.second[rows], None, shown[:, 6:9]))
        return _StepViews(
            [self._readings.bind(rows.start + slot, each) for slot, each in enumerate(data)],
            self._readings.values[rows].reshape(-1),
            self._scene.raw_hand[rows],
            shown[:, :3],
            parts,
            self._grip[step],
            shown,
        )

    def open(self) -> None:
        """Begin: the goals stay the same, because no slot is reset."""
        self._done = 0
        self._observation[:, :, 9:12] = self._simulator.observer.goal()

    def move(self, actions: Array) -> Array | None:
        """Step every slot; return the observations, or None if a slot's physics diverged."""
        bound, values, raw_hand, hand, parts, grip, observation = self._views[self._done]
        is_well = self._simulator.move(actions, bound, grip)
        # Tested for all slots together. Where that fails, `step_diverged` tests each of them.
        if not (is_well and np.dot(values, values) <= FARTHEST_METRES**2):
            return None
        np.maximum(raw_hand, HAND_LOW, out=hand)
        np.minimum(hand, HAND_HIGH, out=hand)
        for source, offset, part in parts:
            if offset is None:
                part[:] = source
            else:
                np.add(source, offset, out=part)
        self._done += 1
        return observation

    def close(self) -> Rolled:
        """Return the results of all steps that went well."""
        steps, simulator = self._done, self._simulator
        slots = simulator.slots
        rows = steps * slots
        if not steps:
            never = np.zeros((0, slots), bool)
            criteria = dict.fromkeys(simulator.criteria, never)
            return Rolled(self._observation[:0], self._grip[:0], never, criteria)
        self._readings.derive(slice(rows))
        scene = Scene(**{name: part[:rows] for name, part in vars(self._scene).items()})
        self._start[:rows].reshape(steps, slots, -1)[:] = simulator.start_values
        start = start_views(self._start[:rows])
        if self._task.latch is not None:
            self._latch(scene, start, steps)
        reward = simulator.reward(scene, start, self._grip[:steps].reshape(-1))
        criteria = {
            name: met.reshape(steps, slots) for name, met in simulator.judged(scene, start).items()
        }
        observation = self._observation[:steps].copy()
        simulator.observation[:] = observation[-1]
        simulator.readings.scene.latched[:] = scene.latched[rows - slots :]
        success = criteria[simulator.criterion]
        return Rolled(observation, reward.reshape(steps, slots), success, criteria)

    def _latch(self, scene: Scene, start: Start, steps: int) -> None:
        assert self._task.latch is not None
        flags = self._task.latch(scene, start).reshape(steps, -1)
        flags[0] |= self._simulator.readings.scene.latched
        scene.latched[:] = np.logical_or.accumulate(flags, axis=0).reshape(-1)

    def step_diverged(self) -> Step:
        """Return the step after which `move` returned None, in which a slot may have diverged."""
        views, simulator = self._views[self._done], self._simulator
        simulator.readings.values[:] = views.values.reshape(simulator.slots, -1)
        return simulator.result(views.grip)
