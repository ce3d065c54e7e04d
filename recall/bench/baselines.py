"""Step Continual World's tasks with other packages, driven the same way as ours."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from recall.errors import required
from recall.plugins.python_process import safe_path
from recall.worlds.continual_world import HORIZON_STEPS

# Takes a number of vector steps and returns how many slot steps these were.
Driver = Callable[[int], int]


def _metaworld_environment(task: str) -> Any:
    """Make Meta-World's own environment, with the classic reward and a new draw every episode."""
    with safe_path():  # as in recall.worlds.continual_world
        metaworld = required("metaworld.env_dict", "recall bench worlds")
    name = f"{task}-v3-goal-observable"
    environment = metaworld.ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE[name](seed=0)
    environment.reward_function_version = "v1"
    environment._freeze_rand_vec = False
    return environment


def metaworld(task: str) -> Driver:
    """Return a driver of one Meta-World environment, as the package comes."""
    environment = _metaworld_environment(task)
    environment.reset()
    rng = np.random.default_rng(0)
    taken = 0

    def drive(steps: int) -> int:
        nonlocal taken
        for action in rng.uniform(-1, 1, (steps, 4)).astype(np.float32):
            environment.step(action)
            taken += 1
            if taken % HORIZON_STEPS == 0:
                environment.reset()
        return steps

    return drive


def _limited_metaworld(task: str) -> Any:
    from gymnasium.wrappers import TimeLimit

    return TimeLimit(_metaworld_environment(task), HORIZON_STEPS)


def metaworld_async(task: str, slots: int) -> tuple[Driver, Callable[[], None]]:
    """Return a driver of Meta-World in Gymnasium's processes, and a function that closes them."""
    from gymnasium.vector import AsyncVectorEnv, AutoresetMode

    with safe_path():
        environments = AsyncVectorEnv(
            [partial(_limited_metaworld, task)] * slots,
            context="spawn",
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
    environments.reset()
    rng = np.random.default_rng(0)

    def drive(steps: int) -> int:
        for action in rng.uniform(-1, 1, (steps, slots, 4)).astype(np.float32):
            environments.step(action)
        return steps * slots

    return drive, environments.close


def has_envpool() -> bool:
    """Return True if envpool with Meta-World is installed."""
    if find_spec("envpool") is None:
        return False
    import envpool

    return "MetaWorld/Push-v3" in envpool.list_all_envs()


def envpool(task: str, slots: int, threads: int) -> Driver:
    """Return a driver of envpool's asynchronous C++ threads; modern reward and observation only."""
    import envpool as package

    name = "".join(word.capitalize() for word in task.split("-"))
    batch = max(slots // 2, 1)
    environments = package.make_gymnasium(
        f"MetaWorld/{name}-v3",
        num_envs=slots,
        batch_size=batch,
        num_threads=threads,
        max_episode_steps=HORIZON_STEPS,
        seed=0,
    )
    environments.async_reset()
    rng = np.random.default_rng(0)

    def drive(steps: int) -> int:
        sends = steps * slots // batch
        for action in rng.uniform(-1, 1, (sends, batch, 4)):
            info = environments.recv()[-1]
            environments.send(action, info["env_id"])
        return sends * batch

    return drive
