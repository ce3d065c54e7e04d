"""Gymnasium vector environment with many slots of one or several tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from recall.errors import BadValueError
from recall.settings import ObservationName, RewardName, WorldSettings
from recall.worlds.env import RENDER_FPS, RenderMode, as_floats, check_render_mode
from recall.worlds.processes import ProcessSlots
from recall.worlds.registry import Task, task_label, world_of
from recall.worlds.simulator import Array
from recall.worlds.slots import Board, Slots, Stream

StepResult = tuple[Array, Array, Array, Array, dict[str, Any]]


class TaskVectorEnv(VectorEnv[Array, Array, Array]):
    """Vector environment of many slots, with automatic reset in the same step.

    Slot i plays the random stream (seed, i), so its trajectory depends neither on the number of
    slots nor on the number of workers. `infos["success"]` holds every slot's success in this
    step. Where an episode ended, `infos["final_obs"]` and `infos["final_info"]` hold what
    `TaskEnv` would have returned. Slots whose physics diverged are truncated, marked in
    `infos["diverged"]` and counted in `diverged_episodes`.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: WorldSettings,
        seed: int | None = None,
        workers: int = 1,
        render_mode: RenderMode | None = None,
    ):
        self.tasks = tuple(tasks)
        self.num_envs = len(self.tasks)
        self.render_mode = render_mode
        self.metadata = {
            "autoreset_mode": AutoresetMode.SAME_STEP,
            "render_modes": ["rgb_array"],
            "render_fps": RENDER_FPS,
        }
        self.diverged_episodes = 0
        self._slots = (
            Slots(tasks, settings) if workers == 1 else ProcessSlots(tasks, settings, workers)
        )
        self._board: Board = self._slots.make_board()
        self.single_observation_space, self.single_action_space = self._slots.spaces
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._np_random, self._np_random_seed = seeding.np_random(seed)
        self._started = False

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode in every slot, with the same `options` for each.

        A seed starts the streams (seed, i). A list of one seed per slot starts the streams
        (seeds[i], 0), as in `TaskEnv`. Without a seed, every slot starts its next episode.
        """
        self._check_open()
        if options and "reset_mask" in options:
            raise BadValueError(
                "reset_mask is not supported: each slot starts its next episode itself"
            )
        streams = self._streams(seed)
        self._slots.reset(streams, options)
        self._started = True
        return self._observation(), {}

    def step(self, actions: Array) -> StepResult:
        """Step every slot. Invalid actions raise BadValueError before any slot is stepped."""
        self._check_open()
        if not self._started:
            raise ResetNeeded("no episode is under way: call reset() before step()")
        board = self._board
        values = self._checked(actions)
        board.action[:] = values
        self._slots.step(values.dtype.name)
        self.diverged_episodes += int(np.count_nonzero(board.diverged))
        return (
            self._observation(),
            board.reward.copy(),
            board.terminated.copy(),
            board.truncated.copy(),
            self._infos(),
        )

    def render(self) -> tuple[Array, ...] | None:
        """Return an RGB image of every slot if `render_mode` is "rgb_array", else None."""
        return None if self.render_mode is None else tuple(self._slots.render())

    def close_extras(self, **kwargs: Any) -> None:
        """Release simulators and workers."""
        self._slots.close()

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed; make a new one")

    def _streams(self, seed: int | Sequence[int] | None) -> list[Stream] | None:
        if seed is None:
            fresh = not self._started
            return self._streams(self._np_random_seed) if fresh else None
        if isinstance(seed, Sequence | np.ndarray):
            if len(seed) != self.num_envs:
                raise BadValueError(f"{len(seed)} seeds for {self.num_envs} slots")
            return [(_checked_seed(each), 0) for each in seed]
        self._np_random, self._np_random_seed = seeding.np_random(_checked_seed(seed))
        return [(self._np_random_seed, slot) for slot in range(self.num_envs)]

    def _observation(self) -> Array:
        return np.array(self._board.observation, self.single_observation_space.dtype)

    def _checked(self, actions: Array) -> Array:
        values = as_floats(actions)
        expected = self._board.action.shape
        if values.shape != expected:
            raise BadValueError(f"actions of shape {values.shape}; expected {expected}")
        if not np.isfinite(values).all():
            slot, dimension = np.argwhere(~np.isfinite(values))[0]
            raise BadValueError(
                f"action {values[slot, dimension]} in slot {slot} ({task_label(self.tasks[slot])})"
                f", dimension {dimension}: actions must be finite; no slot was stepped"
            )
        return values

    def _infos(self) -> dict[str, Any]:
        board = self._board
        infos = _marked({"success": board.success}, np.ones(self.num_envs, bool))
        ended = board.terminated | board.truncated
        if not ended.any():
            return infos
        last = {
            "success": board.success,
            "episode_success": board.episode_success,
            "last_success": board.success,
        }
        final_info = _marked(last, ended)
        if board.diverged.any():
            diverged = _marked({"diverged": board.diverged}, board.diverged)
            infos |= diverged
            final_info |= {key: array.copy() for key, array in diverged.items()}
        final_observation = np.full(self.num_envs, None, object)
        for slot in np.flatnonzero(ended):
            row = board.final_observation[slot]
            final_observation[slot] = row.astype(self.single_observation_space.dtype)
        infos |= {"final_obs": final_observation, "_final_obs": ended}
        return infos | {"final_info": final_info, "_final_info": ended.copy()}


def _marked(flags: Mapping[str, Array], mask: Array) -> dict[str, Any]:
    """Return infos in Gymnasium's form: an array per key, and its mask of slots as `_key`."""
    told: dict[str, Any] = {}
    for key, flag in flags.items():
        told |= {key: flag & mask, f"_{key}": mask.copy()}
    return told


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise BadValueError(f"seed {seed!r} is not a whole number of zero or more")
    return int(seed)


def make_vec(
    task: Task | Sequence[Task],
    num_envs: int = 1,
    reward: RewardName = WorldSettings.reward,
    observation: ObservationName = WorldSettings.observation,
    horizon: int | None = WorldSettings.horizon_steps,
    seed: int | None = None,
    workers: int = 1,
    render_mode: RenderMode | None = None,
) -> TaskVectorEnv:
    """Return a `gymnasium.vector.VectorEnv` of `num_envs` slots.

    It takes the arguments of `make` and those described here. With a list of tasks, slot i plays
    `task[i % len(task)]`. The slots are divided among `workers` processes (at most one per slot);
    with one worker, they run in the current process. A script that uses more workers must do its
    work under `if __name__ == "__main__":`.
    """
    for kind, number in (("num_envs", num_envs), ("workers", workers)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise BadValueError(f"{kind} {number!r} is not a positive whole number")
    tasks = [task] if isinstance(task, str) or callable(task) else list(task)
    if not 1 <= len(tasks) <= num_envs:
        raise BadValueError(
            f"{len(tasks)} tasks for {num_envs} slots: give at least one task, and a slot for each"
        )
    settings = WorldSettings(reward, observation, horizon)
    check_render_mode(render_mode)
    for each in tasks:
        world_of(each)  # raises for an unknown name here rather than in a worker
    seed = None if seed is None else _checked_seed(seed)
    slots = [tasks[slot % len(tasks)] for slot in range(num_envs)]
    return TaskVectorEnv(slots, settings, seed, workers, render_mode)
