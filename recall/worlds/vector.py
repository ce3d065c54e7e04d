"""Gymnasium vector environment with many slots of one or several tasks."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from recall.errors import BadValueError, UnknownNameError
from recall.settings import ObservationName, RewardName, WorldSettings
from recall.settings.checked import Count, from_plain
from recall.worlds.env import (
    RENDER_FPS,
    checked_actions,
    image_arguments,
    refuse_horizon,
    step_info,
)
from recall.worlds.registry import Task, tasks_in
from recall.worlds.simulator import Array
from recall.worlds.slots import Board, ProcessSlots, Slots, Stream

_RenderMode = Literal["rgb_array"]
_FLAGS = ("success", "episode_success", "diverged")


class TaskVectorEnv(VectorEnv[Array, Array, Array]):
    """Vector environment of many slots.

    Slot i plays what `recall.make` plays with the seed `seed + i`, so its trajectory depends
    neither on the number of slots nor on the number of workers. `infos` has the keys of `TaskEnv`,
    with an array of every slot's value in this step. Slots whose physics diverged are truncated,
    marked in `infos["diverged"]` and counted in `diverged_episodes`.

    With the autoreset mode NEXT_STEP, the step after an episode's end starts the slot's next
    episode and ignores its action. With SAME_STEP, the next episode starts in the same step, and
    `infos["final_obs"]` and `infos["final_info"]` hold what `TaskEnv` would have returned. With
    DISABLED, `reset(options={"reset_mask": mask})` has to start it.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: WorldSettings,
        seed: int | None = None,
        workers: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        **image: Any,
    ):
        self.tasks = tuple(tasks)
        self.num_envs = len(self.tasks)
        self.render_mode = from_plain(_RenderMode | None, render_mode, "render mode")
        self.autoreset_mode = autoreset_mode  # an attribute too, since torchrl reads it there
        self.metadata = {
            "autoreset_mode": self.autoreset_mode,
            "render_modes": list(get_args(_RenderMode)),
            "render_fps": RENDER_FPS,
        }
        self.diverged_episodes = 0
        self._slots = (
            Slots(tasks, settings) if workers == 1 else ProcessSlots(tasks, settings, workers)
        )
        self._board: Board = self._slots.board
        spaces = self._slots.spaces
        self._criteria = spaces.criteria
        self._image = image_arguments(spaces.cameras, **image)
        self.single_observation_space = spaces.observation
        self.single_action_space = spaces.action
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._np_random, self._np_random_seed = seeding.np_random(seed)
        self._started = False
        # Slots whose episode has ended and whose user has not yet seen the next one.
        self._ended = np.zeros(self.num_envs, bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode in every slot, with the same `options` for each.

        `options["reset_mask"]` [slots] selects slots, unless they begin their next episode by
        themselves.

        A seed gives slot i the seed `seed + i`, as in Gymnasium's `SyncVectorEnv`; a list has one
        for each slot. A slot without a seed starts its next episode.
        """
        self._check_open()
        options = dict(options or {})
        chosen = self._chosen(options)
        streams = self._streams(seed)
        self._slots.reset(streams, chosen, self._ended if self._ended.any() else None, options)
        self._started = True
        slots = np.ones(self.num_envs, bool) if chosen is None else chosen
        self._ended &= ~slots
        for name in (*_FLAGS, *self._criteria):
            self._board[name][slots] = False
        return self._observation(), self._infos(slots)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Step every slot. Invalid actions raise BadValueError before any slot is stepped."""
        self._check_open()
        if not self._started:
            raise ResetNeeded("no episode is under way: call reset() before step()")
        held = self._held()
        board = self._board
        values = checked_actions(actions, board["action"].shape, self.tasks)
        board["action"][:] = values
        self._slots.step(held, values.dtype.name)
        self.diverged_episodes += int(np.count_nonzero(board["diverged"]))
        ended = board["terminated"] | board["truncated"]
        infos = self._infos(np.ones(self.num_envs, bool))
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            self._ended = ended
        elif ended.any():
            infos |= self._final_infos(ended)
        reward, *ends = (board[name].copy() for name in ("reward", "terminated", "truncated"))
        return self._observation(), reward, ends[0], ends[1], infos

    def render(self) -> tuple[Array, ...] | None:
        """Return an RGB image of every slot if `render_mode` is "rgb_array", else None."""
        return None if self.render_mode is None else tuple(self._slots.render(self._image))

    def close_extras(self, **kwargs: Any) -> None:
        """Release simulators and workers."""
        self._slots.close()

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed; make a new one")

    def _streams(self, seed: int | Sequence[int | None] | None) -> Sequence[Stream | None]:
        """Return the random stream that begins in every slot, or None where none does."""
        if seed is None:
            fresh = not self._started
            return self._streams(self._np_random_seed) if fresh else [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray):
            if len(seed) != self.num_envs:
                raise BadValueError(f"{len(seed)} seeds for {self.num_envs} slots")
            seeds = [None if each is None else (_checked_seed(each), 0) for each in seed]
            return [given or own for given, own in zip(seeds, self._streams(None), strict=True)]
        self._np_random, self._np_random_seed = seeding.np_random(_checked_seed(seed))
        return [(self._np_random_seed + slot, 0) for slot in range(self.num_envs)]

    def _held(self) -> Array | None:
        """Return the slots that begin their next episode instead of being stepped."""
        if not self._ended.any():
            return None
        if self.autoreset_mode is AutoresetMode.DISABLED:
            slots = ", ".join(map(str, np.flatnonzero(self._ended)))
            raise ResetNeeded(
                f"the episodes of slots {slots} have ended: call reset with "
                'options={"reset_mask": mask} first'
            )
        return self._ended

    def _chosen(self, options: dict[str, Any]) -> Array | None:
        """Take the mask of slots to reset out of `options`."""
        if "reset_mask" not in options:
            return None
        mask = np.asarray(options.pop("reset_mask"))
        if self.autoreset_mode is not AutoresetMode.DISABLED:
            raise BadValueError(
                "reset_mask: slots begin their next episode by themselves; make the environment "
                "with autoreset_mode='Disabled'"
            )
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise BadValueError(
                f"reset_mask {mask.tolist()}: give {self.num_envs} booleans, at least one of them "
                "True"
            )
        if not self._started and not mask.all():
            raise ResetNeeded("no episode is under way: the first reset is of all slots")
        return mask

    def _observation(self) -> Array:
        """Return what the user sees of every slot: the end of an episode that has ended."""
        shown = self._board["observation"]
        if self._ended.any():
            shown = np.where(self._ended[:, None], self._board["final_observation"], shown)
        return np.array(shown, self.single_observation_space.dtype)

    # Infos in Gymnasium's form: an array and a mask for each key, the same keys in every step.

    def _infos(self, slots: Array) -> dict[str, Any]:
        """Return what the board says of the `slots` [slots] that are True."""
        board = self._board
        criteria = {name: board[name] for name in self._criteria}
        success, so_far, diverged = (board[name] for name in _FLAGS)
        flags = step_info(success, so_far, diverged, criteria)
        told: dict[str, Any] = {}
        for key, flag in flags.items():
            told |= {key: flag & slots, f"_{key}": slots.copy()}
        return told

    def _final_infos(self, ended: Array) -> dict[str, Any]:
        """Return the entries about slots whose episode has `ended` and whose next one began."""
        observations = np.full(len(ended), None, object)
        for slot in np.flatnonzero(ended):
            final = self._board["final_observation"][slot]
            observations[slot] = final.astype(self.single_observation_space.dtype)
        return {
            "final_obs": observations,
            "_final_obs": ended,
            "final_info": self._infos(ended),
            "_final_info": ended.copy(),
        }


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
    render_mode: str | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    width: int = 480,
    height: int = 480,
    camera_name: str | None = None,
) -> TaskVectorEnv:
    """Return a `gymnasium.vector.VectorEnv` of several slots.

    Args:
        task: As for `recall.make`, or a list, of which slot i plays `task[i % len(task)]`.
        num_envs: Number of slots.
        reward: As for `recall.make`.
        observation: As for `recall.make`.
        horizon: As for `recall.make`.
        seed: Of the first episodes.
        workers: Number of processes, at most one per slot, among which the slots are divided. With
            one, they run in the current process.
        render_mode: "rgb_array" lets `render` return an image of every slot.
        autoreset_mode: What happens at the end of an episode: Gymnasium's "NextStep", "SameStep" or
            "Disabled" (see `TaskVectorEnv`).
        width: As for `recall.make`.
        height: As for `recall.make`.
        camera_name: As for `recall.make`.
    """
    num_envs = from_plain(Count, num_envs, "num_envs")
    workers = from_plain(Count, workers, "workers")
    tasks = tasks_in(task)
    if not 1 <= len(tasks) <= num_envs:
        raise BadValueError(
            f"{len(tasks)} tasks for {num_envs} slots: give at least one task, and a slot for each"
        )
    try:
        mode = AutoresetMode(autoreset_mode)
    except ValueError:
        modes = [mode.value for mode in AutoresetMode]
        raise UnknownNameError("autoreset mode", autoreset_mode, modes) from None
    settings = WorldSettings(reward, observation, horizon)
    seed = None if seed is None else _checked_seed(seed)
    slots = [tasks[slot % len(tasks)] for slot in range(num_envs)]
    image = {"width": width, "height": height, "camera_name": camera_name}
    return TaskVectorEnv(slots, settings, seed, workers, render_mode, mode, **image)


def registered_vec(
    task: Task, num_envs: int, max_episode_steps: int, **arguments: Any
) -> TaskVectorEnv:
    """Return the vector environment of a registered id, for `gymnasium.make_vec`."""
    refuse_horizon(arguments)
    return make_vec(task, num_envs, horizon=max_episode_steps, **arguments)
