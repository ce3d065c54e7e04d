"""Gymnasium environment of a whole sequence, whose task changes between episodes."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from recall.errors import BadValueError
from recall.settings import ObservationName, RewardName, ScheduleSettings, WorldSettings
from recall.settings.checked import LARGEST_WHOLE, Count, Range, from_plain
from recall.worlds.env import RenderMode, TaskEnv, in_window, refuse_horizon
from recall.worlds.registry import Task, task_label, tasks_in
from recall.worlds.sequences import parse_sequence
from recall.worlds.simulator import Array
from recall.worlds.slots import sizes_of


class SequenceEnv(gymnasium.Env[Array, Array]):
    """Gymnasium environment of several tasks, one after the other.

    A task lasts `steps_per_task` steps. An episode that has not ended by then is truncated, and the
    next `reset` starts the next task. The last task has no end. The spaces are those of all tasks
    together and never change; no observation says which task it belongs to.

    The `info` of a reset and of every step has the keys of `recall.worlds.env.TaskEnv` and "task",
    the name of the current task, and "task_index", its position from 0 on.

    `reset(seed=s)` starts the random stream of `recall.make`, in the current task.
    `reset(options={"task_index": i})` goes to the beginning of a task; it is 0 to start over. Other
    options are passed to the task.
    """

    metadata: ClassVar[dict[str, Any]] = TaskEnv.metadata  # type: ignore[misc]

    def __init__(
        self, tasks: Sequence[Task], steps_per_task: int, settings: WorldSettings, **image: Any
    ):
        if not tasks:
            raise BadValueError("a sequence without tasks: give at least one")
        self.tasks = tuple(tasks)
        self.steps_per_task = from_plain(Count, steps_per_task, "steps_per_task")
        self.render_mode = image.get("render_mode")
        self._settings, self._image = settings, image
        spaces, _ = sizes_of(self.tasks, settings)
        self.observation_space, self.action_space = spaces.observation, spaces.action
        self._begin(0)

    @property
    def task(self) -> str:
        """Return the name of the current task."""
        return task_label(self.tasks[self.task_index])

    def _begin(self, index: int) -> None:
        """Make the environment of a task; its first episode starts with the next reset."""
        self.task_index, self._steps, self._is_seeded = index, 0, False
        self._env = TaskEnv(self.tasks[index], self._settings, **self._image)

    def _is_over(self) -> bool:
        """Return True if the current task has had its steps and another one follows."""
        return self._steps >= self.steps_per_task and self.task_index < len(self.tasks) - 1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode, of the next task if the current one has had its steps."""
        super().reset(seed=seed)
        rest = dict(options or {})
        position = Annotated[int, Range(least=0, most=len(self.tasks) - 1)]
        chosen = from_plain(position | None, rest.pop("task_index", None), "task_index")
        self._env.simulator.check_options(rest)  # before anything changes
        if chosen is not None:
            self.close()
            self._begin(chosen)
        elif self._is_over():
            self.close()
            self._begin(self.task_index + 1)
        if seed is None and not self._is_seeded:
            seed = int(self.np_random.integers(LARGEST_WHOLE))
        self._is_seeded = True
        first, info = self._env.reset(seed=seed, options=rest)
        return self._told(first, info)

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take one action. The last step of a task truncates."""
        if self._is_over():
            raise ResetNeeded(f"{self.task} has had its {self.steps_per_task} steps: call reset()")
        observation, reward, terminated, truncated, info = self._env.step(action)
        self._steps += 1
        truncated |= self._is_over() and not terminated
        observation, info = self._told(observation, info)
        return observation, reward, terminated, truncated, info

    def _told(self, observation: Array, info: dict[str, Any]) -> tuple[Array, dict[str, Any]]:
        told = {**info, "task": self.task, "task_index": self.task_index}
        return np.asarray(observation, self.observation_space.dtype), told

    def render(self) -> Array | None:
        """Return an RGB image of the current state if `render_mode` is "rgb_array", else None."""
        return self._env.render()

    def close(self) -> None:
        """Release the simulator."""
        self._env.close()


def make_sequence(
    sequence: str | Sequence[Task],
    steps_per_task: int = ScheduleSettings.steps_per_task,
    reward: RewardName = WorldSettings.reward,
    observation: ObservationName = WorldSettings.observation,
    horizon: int | None = WorldSettings.horizon_steps,
    render_mode: RenderMode | None = None,
    **image: Any,
) -> gymnasium.Env[Array, Array]:
    """Return one environment of a whole sequence (see `recall.worlds.sequence_env.SequenceEnv`).

    Args:
        sequence: A name from `recall list sequences`, tasks joined by commas, or a list of tasks.
        steps_per_task: Number of steps after which the task changes. Several environments in a
            vector count their own steps.
        reward: As for `recall.make`.
        observation: As for `recall.make`.
        horizon: As for `recall.make`.
        render_mode: As for `recall.make`.
        image: `width`, `height` and `camera_name`, as for `recall.make`.
    """
    tasks = parse_sequence(sequence).tasks if isinstance(sequence, str) else tasks_in(sequence)
    settings = WorldSettings(reward, observation, horizon)
    return in_window(render_mode, SequenceEnv, tasks, steps_per_task, settings, **image)


def registered_sequence(sequence: str, **arguments: Any) -> gymnasium.Env[Array, Array]:
    """Return the environment of a registered sequence, for `gymnasium.make`."""
    refuse_horizon(arguments)
    return make_sequence(sequence, horizon=LARGEST_WHOLE, **arguments)


registered_sequence.metadata = TaskEnv.metadata  # type: ignore[attr-defined]
