"""Our slots as a `VecEnv` of Stable-Baselines3, so that its agents step all of them at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from recall.errors import BadValueError, RecallError
from recall.worlds.registry import Task
from recall.worlds.simulator import Array
from recall.worlds.vector import TaskVectorEnv, make_vec

try:
    from stable_baselines3.common.vec_env import VecEnv, VecMonitor
except ImportError as error:
    raise RecallError(
        "make_sb3_vec needs Stable-Baselines3: pip install stable-baselines3"
    ) from error


class Sb3VecEnv(VecEnv):
    """Adapter from `TaskVectorEnv` to the interface of Stable-Baselines3."""

    def __init__(self, env: TaskVectorEnv):
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Array:
        """Start an episode in every slot, with the seeds and options set before, if any."""
        if any(options != self._options[0] for options in self._options):
            raise BadValueError("set_options: all slots are reset with the same options; give one")
        observation, infos = self.env.reset(seed=self._seeds, options=self._options[0] or None)
        self.reset_infos = self._split(infos)
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: Array) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Step every slot; the next episode of one that ended starts in the same step."""
        observation, reward, terminated, truncated, infos = self.env.step(self._actions)
        told = self._split(infos)
        for slot, info in enumerate(told):
            info["TimeLimit.truncated"] = bool(truncated[slot])
        done = terminated | truncated
        for slot in np.flatnonzero(done).tolist():
            told[slot]["terminal_observation"] = infos["final_obs"][slot]
        return observation, reward.astype(np.float32), done, told

    def _split(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the infos slot by slot."""
        keys = [key for key in infos if not key.startswith("_") and "final" not in key]
        columns = [infos[key].tolist() for key in keys]
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]

    def close(self) -> None:
        """Release simulators and workers."""
        self.env.close()

    def get_images(self) -> Sequence[Array | None]:
        """Return an RGB image of every slot, if made with render_mode="rgb_array"."""
        return self.env.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environment, which is the same for every slot."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: slots have no attributes of their own."""
        raise BadValueError(f"set_attr({attr_name!r}): slots have no attributes of their own")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Refuse: slots are no environments of their own."""
        raise BadValueError(f"env_method({method_name!r}): slots have no methods of their own")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for every slot."""
        return [False for _ in self._get_indices(indices)]


def make_sb3_vec(task: Task | Sequence[Task], num_envs: int = 1, **arguments: Any) -> VecEnv:
    """Return a `VecEnv` of Stable-Baselines3 with `num_envs` slots; arguments as for `make_vec`.

    It is wrapped in a VecMonitor, so that returns, lengths and the success rate are logged.
    """
    return VecMonitor(
        Sb3VecEnv(make_vec(task, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **arguments))
    )
