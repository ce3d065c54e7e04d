"""Measure environment steps per second, next to Meta-World and envpool, in one run."""

import functools
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

from recall.bench import apart
from recall.collect.pool import cores as available_cores
from recall.errors import required
from recall.plugins.python_process import safe_path
from recall.worlds.continual_world import HORIZON_STEPS, TASKS, make_simulator
from recall.worlds.episodes import Episodes

_MEMORY_SLOTS = 64
# Takes so many steps in every slot.
Driver = Callable[[int], None]


def ours(task: str, slots: int) -> Driver:
    """Return a driver of the in-process simulator with endless episodes."""
    simulator = make_simulator(task, slots, reward="v1", observation="classic")
    episodes = Episodes(simulator, HORIZON_STEPS, [(0, slot) for slot in range(slots)])
    episodes.start_all()
    rng = np.random.default_rng(0)

    def drive(steps: int) -> None:
        for actions in rng.uniform(-1, 1, (steps, slots, 4)):
            episodes.step(actions)

    return drive


_kept = functools.lru_cache(maxsize=1)(ours)  # in a worker process: its own slots


def _drive_kept(task: str, slots: int, steps: int) -> None:
    _kept(task, slots)(steps)


def _metaworld_environment(task: str) -> Any:
    """Make Meta-World's own environment, with the classic reward and a new draw every episode."""
    from gymnasium.wrappers import TimeLimit

    with safe_path():  # as in recall.worlds.continual_world
        metaworld = required("metaworld.env_dict", "recall bench worlds")
    name = f"{task}-v3-goal-observable"
    environment = metaworld.ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE[name](seed=0)
    environment.reward_function_version = "v1"
    environment._freeze_rand_vec = False
    return TimeLimit(environment, HORIZON_STEPS)


def _metaworld(task: str) -> Driver:
    environment = _metaworld_environment(task)
    environment.reset()
    rng = np.random.default_rng(0)

    def drive(steps: int) -> None:
        for action in rng.uniform(-1, 1, (steps, 4)).astype(np.float32):
            if environment.step(action)[3]:
                environment.reset()

    return drive


def _envpool(task: str, slots: int, threads: int) -> Driver:
    """Return a driver of envpool's asynchronous C++ threads; modern reward and observation only."""
    import envpool

    name = "".join(word.capitalize() for word in task.split("-"))
    batch = max(slots // 2, 1)
    environments = envpool.make_gymnasium(
        f"MetaWorld/{name}-v3",
        num_envs=slots,
        batch_size=batch,
        num_threads=threads,
        max_episode_steps=HORIZON_STEPS,
        seed=0,
    )
    environments.async_reset()
    rng = np.random.default_rng(0)

    def drive(steps: int) -> None:
        for action in rng.uniform(-1, 1, (steps * slots // batch, batch, 4)):
            info = environments.recv()[-1]
            environments.send(action, info["env_id"])

    return drive


def _has_envpool() -> bool:
    """Return True if envpool with Meta-World is installed."""
    if find_spec("envpool") is None:
        return False
    import envpool

    return "MetaWorld/Push-v3" in envpool.list_all_envs()


def _measure_memory(tasks: Sequence[str]) -> int:
    """Return the bytes of memory that a slot adds, as the mean over the tasks."""
    grown = []
    for task in tasks:
        ours(task, 1)(5)
        before = _resident_bytes()
        many = ours(task, 1 + _MEMORY_SLOTS)
        many(5)
        grown.append((_resident_bytes() - before) / _MEMORY_SLOTS)
    return int(np.mean(grown))


def _resident_bytes() -> int:
    command = ["ps", "-o", "rss=", "-p", str(os.getpid())]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) * 1024


@contextmanager
def _one_core() -> Iterator[None]:
    """Restrict this thread and those it starts to one core, where the system supports it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def measure(
    steps_per_task: int,
    tell: Callable[[str], None],
    tasks: Sequence[str] = TASKS,
    cores: int | None = None,
    slots: int = 10,
) -> dict[str, Any]:
    """Measure steps per second of 200-step episodes with random actions, resets included.

    Rates are pooled over the tasks: equal steps in each, total steps over total time. All packages
    are measured on a task before the next task's turn, so that a machine whose speed drifts affects
    them equally. Loading models is not measured. Reward and observation are the classic ones,
    except in envpool, which has only the modern ones.
    """
    cores = cores or available_cores()
    steps = max(round(steps_per_task / (slots * HORIZON_STEPS)), 1) * HORIZON_STEPS
    measured = []
    with ExitStack() as started, safe_path():
        processes = [ProcessPoolExecutor(1, get_context("spawn")) for _ in range(cores)]
        workers = [started.enter_context(process) for process in processes]
        for task in tasks:
            tell(task)
            measured += [(task, *each) for each in _of_task(task, steps, slots, workers)]
    frame = pd.DataFrame(measured, columns=["task", "package", "steps", "seconds"])
    pooled = frame.assign(task="all, pooled")
    total = pd.concat([frame, pooled]).groupby(["task", "package"], sort=False).sum()
    rates = (total["steps"] / total["seconds"]).unstack("package")[[*frame["package"].unique()]]
    rates = rates.loc[[*tasks, "all, pooled"]]
    in_all = rates.iloc[-1]
    return {
        "rows": rates.reset_index().to_dict("records"),
        "ratio_to_metaworld_on_1_core": in_all["recall_1_core"] / in_all["metaworld_1_core"],
        f"ratio_on_{cores}_cores": in_all[f"recall_{cores}_cores"] / in_all["metaworld_1_core"],
        "memory_per_slot_mb": apart(_measure_memory, tasks)[0] / 1e6,
    }


def _of_task(
    task: str, steps: int, slots: int, workers: Sequence[Executor]
) -> Iterator[tuple[str, int, float]]:
    """Yield the name, the steps and the seconds of every package at one task."""
    from gymnasium.vector import AsyncVectorEnv, AutoresetMode

    def timed(name: str, drive: Driver, steps: int, slots: int) -> tuple[str, int, float]:
        begin = time.perf_counter()
        drive(steps)
        return name, steps * slots, time.perf_counter() - begin

    def drive_workers(steps: int) -> None:
        for call in wait([each.submit(_drive_kept, task, slots, steps) for each in workers]).done:
            call.result()

    cores = len(workers)
    yield timed("metaworld_1_core", _metaworld(task), steps * slots, 1)
    yield timed("recall_1_core", ours(task, slots), steps, slots)
    if _has_envpool():
        # The others use one thread; envpool's single thread runs next to the caller's.
        with _one_core():
            yield timed("envpool_1_core", _envpool(task, slots, 1), steps, slots)
        in_all = slots * cores
        yield timed(f"envpool_{cores}_cores", _envpool(task, in_all, cores), steps, in_all)
    drive_workers(0)  # loads the task
    yield timed(f"recall_{cores}_cores", drive_workers, steps, slots * cores)
    make = functools.partial(_metaworld_environment, task)
    mode = AutoresetMode.SAME_STEP
    with closing(AsyncVectorEnv([make] * cores, context="spawn", autoreset_mode=mode)) as together:
        together.reset()
        actions = np.random.default_rng(0).uniform(-1, 1, (steps * slots // cores, cores, 4))

        def drive_together(_: int) -> None:
            for action in actions.astype(np.float32):
                together.step(action)

        yield timed(f"metaworld_async_{cores}", drive_together, len(actions), cores)
