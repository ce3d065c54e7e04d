"""Gymnasium environment of one task."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import HumanRendering

from recall.errors import BadValueError, RecallError, UnknownNameError, required
from recall.settings import ObservationName, RewardName, WorldSettings
from recall.settings.checked import LARGEST_WHOLE, Count, from_plain
from recall.worlds.gym_registration import environment_id
from recall.worlds.registry import Task, horizon_steps, make_simulator, task_label
from recall.worlds.simulator import Array

RenderMode = Literal["human", "rgb_array"]
RENDER_FPS = 80  # Continual World: five physics steps of 2.5 ms per step


class TaskEnv(gymnasium.Env[Array, Array]):
    """Gymnasium environment of one task. `recall.make` makes it and documents its arguments.

    The `info` of a reset and of every step has the same keys, all of them bool: "success" (this
    step), "episode_success" (any step of the episode so far) and the same as "is_success", the name
    that other packages read, and "diverged": True if the physics diverged, which truncates the
    episode. In Continual World there are also "success_v1" and "success_v2", by the criterion that
    goes with each of the rewards; "success" is the one of `reward`.

    `reset(seed=s)` starts the random stream (s, 0), and a reset without a seed starts the next
    episode of that stream. `options` are passed to the task; Continual World accepts
    {"rand_vec": ...}, Meta-World's vector of start and goal.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium's is no ClassVar
        "render_modes": list(get_args(RenderMode)),
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self,
        task: Task,
        settings: WorldSettings,
        render_mode: RenderMode | None = None,
        **image: Any,
    ):
        self.horizon_steps = horizon_steps(task, settings)
        self.simulator = make_simulator(task, 1, settings)
        self.observation_space = self.simulator.observation_space
        self.action_space = self.simulator.action_space
        self.render_mode = from_plain(RenderMode | None, render_mode, "render mode")
        self._image = image_arguments(self.simulator.cameras, **image)
        name = environment_id(task)
        if name is not None:
            self.spec = EnvSpec(
                name,
                entry_point="recall.worlds.env:registered_env",
                max_episode_steps=self.horizon_steps,
                order_enforce=False,
                disable_env_checker=True,
                kwargs={
                    "task": task,
                    "reward": settings.reward,
                    "observation": settings.observation,
                    "render_mode": render_mode,
                    **self._image,
                },
            )
        self._episode = -1
        self._steps = 0
        self._success = False
        self._playing = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode: the first of stream (seed, 0), or without a seed the next one."""
        self.simulator.check_options(options)
        super().reset(seed=seed)
        self._episode = 0 if seed is not None else self._episode + 1
        stream = (self.np_random_seed, 0)
        # The same generator that recall.worlds.episodes uses for this episode of the stream.
        rng = np.random.default_rng([*stream, self._episode])
        first = self.simulator.reset(0, rng, options)
        self._steps, self._success, self._playing = 0, False, True
        criteria = dict.fromkeys(self.simulator.criteria, False)
        return self._observation(first), step_info(False, False, False, criteria)

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take one action. Horizon and divergence truncate; only the task terminates."""
        if not self._playing:
            raise ResetNeeded(f"no episode of {self.simulator.task} is under way: call reset()")
        shape = (1, *self.simulator.action_space.shape)
        result = self.simulator.step(checked_actions(action, shape, [self.simulator.task]))
        success, diverged = bool(result.success[0]), bool(result.diverged[0])
        terminated = bool(result.terminated[0])
        self._steps += 1
        self._success |= success
        out_of_time = self._steps >= self.horizon_steps
        truncated = not terminated and (bool(result.truncated[0]) or diverged or out_of_time)
        self._playing = not (terminated or truncated)
        criteria = {name: bool(met[0]) for name, met in result.criteria.items()}
        info = step_info(success, self._success, diverged, criteria)
        observation = self._observation(result.observation[0])
        return observation, float(result.reward[0]), terminated, truncated, info

    def render(self) -> Array | None:
        """Return an RGB image of the current state if `render_mode` is "rgb_array", else None."""
        return None if self.render_mode is None else self.simulator.render(0, **self._image)

    def close(self) -> None:
        """Release the simulator."""
        self.simulator.close()

    def _observation(self, observation: Array) -> Array:
        return np.array(observation, self.observation_space.dtype)  # always a copy


def checked_actions(actions: Any, shape: tuple[int, ...], tasks: Sequence[Task]) -> Array:
    """Return the actions of all slots as finite floats [slots, act]; refuse any others.

    Single precision is kept, because it matters in Meta-World. One slot has one task's actions.
    """
    values = np.asarray(actions)
    if len(tasks) == 1 and values.ndim < len(shape):
        values = values[np.newaxis]
    if values.shape != shape:
        raise BadValueError(f"actions of shape {values.shape}; expected {shape}")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if not np.isfinite(values).all():
        slot, dimension = np.argwhere(~np.isfinite(values))[0]
        raise BadValueError(
            f"action {values[slot, dimension]} in slot {slot} ({task_label(tasks[slot])}), "
            f"dimension {dimension}: actions must be finite; no slot was stepped"
        )
    return values


def step_info(
    success: Any, episode_success: Any, diverged: Any, criteria: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the `info` of a step: flags, or arrays of flags for many slots."""
    return {
        "success": success,
        "episode_success": episode_success,
        "is_success": episode_success,
        "diverged": diverged,
        **criteria,
    }


def image_arguments(
    cameras: Sequence[str], width: int = 480, height: int = 480, camera_name: str | None = None
) -> dict[str, Any]:
    """Return the arguments of `Simulator.render`, checked."""
    width, height = from_plain(Count, width, "width"), from_plain(Count, height, "height")
    if camera_name is None:
        return {"width": width, "height": height}
    if camera_name not in cameras:
        raise UnknownNameError("camera", camera_name, cameras)
    return {"width": width, "height": height, "camera_name": camera_name}


def make(
    task: Task,
    reward: RewardName = WorldSettings.reward,
    observation: ObservationName = WorldSettings.observation,
    horizon: int | None = WorldSettings.horizon_steps,
    render_mode: RenderMode | None = None,
    width: int = 480,
    height: int = 480,
    camera_name: str | None = None,
) -> gymnasium.Env[Array, Array]:
    """Return the Gymnasium environment of one task (see `recall.worlds.env.TaskEnv`).

    Args:
        task: A name from `recall list tasks`, `"gym:<id>"`, or a function that makes a Gymnasium
            environment.
        reward: Of Continual World's two variants.
        observation: Of Continual World's two variants.
        horizon: Number of steps per episode. None: the world's default, 200 in Continual World.
        render_mode: "rgb_array" lets `render` return an image; "human" shows every step in a
            window, which needs pygame.
        width: Of images, in pixels. A Gymnasium environment draws in its own size.
        height: Of images, in pixels.
        camera_name: One of Meta-World's cameras, such as "corner3" or "gripperPOV", in Continual
            World. None: a view of the whole table.
    """
    settings = WorldSettings(reward, observation, horizon)
    image = {"width": width, "height": height, "camera_name": camera_name}
    return in_window(render_mode, TaskEnv, task, settings, **image)


def in_window(
    render_mode: RenderMode | None,
    make_env: Callable[..., gymnasium.Env[Array, Array]],
    *arguments: Any,
    **image: Any,
) -> gymnasium.Env[Array, Array]:
    """Return what `make_env` makes, shown in Gymnasium's window if the mode is "human"."""
    if render_mode != "human":
        return make_env(*arguments, render_mode=render_mode, **image)
    pygame = required("pygame", "render mode 'human'")
    try:
        pygame.display.init()
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            raise pygame.error("there is no display")  # SDL would draw for nobody
    except pygame.error as error:
        raise RecallError(
            f"render mode 'human': no window can be opened here ({error}). 'rgb_array' draws "
            "images without a display"
        ) from error
    return HumanRendering(make_env(*arguments, render_mode="rgb_array", **image))


def registered_env(task: Task, **arguments: Any) -> gymnasium.Env[Array, Array]:
    """Return the environment of a registered id: the only limit is `max_episode_steps`."""
    refuse_horizon(arguments)
    return make(task, horizon=LARGEST_WHOLE, **arguments)


# Gymnasium reads it to know what `render_mode` may be.
registered_env.metadata = TaskEnv.metadata  # type: ignore[attr-defined]


def refuse_horizon(arguments: Mapping[str, Any]) -> None:
    """Raise BadValueError if the `horizon` of a registered id is given: Gymnasium has its own."""
    if "horizon" in arguments:
        raise BadValueError(
            f"horizon {arguments['horizon']}: the length of the episodes of a registered id is "
            f"given as max_episode_steps={arguments['horizon']}"
        )
