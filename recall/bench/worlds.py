"""Measure environment steps per second, next to Meta-World and envpool, in one run."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np

from recall.bench import apart
from recall.collect.cores import cores as available_cores
from recall.errors import BadValueError, required
from recall.plugins.python_process import safe_path
from recall.worlds.continual_world import HORIZON_STEPS, TASKS, make_simulator
from recall.worlds.episodes import Episodes

_SLOTS = 10  # of a task, in one process
_MEMORY_SLOTS = 64
_LABELS = {
    "ours_1": "recall_1_core",
    "ours_all": "recall_{}_cores",
    "metaworld_1": "metaworld_1_core",
    "metaworld_async": "metaworld_async_{}",
    "envpool_1": "envpool_1_core",
    "envpool_all": "envpool_{}_cores",
}
# Takes a number of vector steps and returns how many slot steps these were.
Driver = Callable[[int], int]
# Steps and seconds of each, or None for a package that is not installed.
_Row = dict[str, tuple[int, float] | None]


def ours(task: str, slots: int) -> Driver:
    """Return a driver of the in-process simulator with endless episodes."""
    simulator = make_simulator(task, slots, reward="v1", observation="classic")
    episodes = Episodes(simulator, HORIZON_STEPS, [(0, slot) for slot in range(slots)])
    episodes.start_all()
    rng = np.random.default_rng(0)

    def drive(steps: int) -> int:
        for actions in rng.uniform(-1, 1, (steps, slots, 4)):
            episodes.step(actions)
        return steps * slots

    return drive


def _metaworld_environment(task: str) -> Any:
    """Make Meta-World's own environment, with the classic reward and a new draw every episode."""
    with safe_path():  # as in recall.worlds.continual_world
        metaworld = required("metaworld.env_dict", "recall bench worlds")
    name = f"{task}-v3-goal-observable"
    environment = metaworld.ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE[name](seed=0)
    environment.reward_function_version = "v1"
    environment._freeze_rand_vec = False
    return environment


def _metaworld(task: str) -> Driver:
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


def _metaworld_async(task: str, slots: int) -> tuple[Driver, Callable[[], None]]:
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


def _has_envpool() -> bool:
    """Return True if envpool with Meta-World is installed."""
    if find_spec("envpool") is None:
        return False
    import envpool

    return "MetaWorld/Push-v3" in envpool.list_all_envs()


def _envpool(task: str, slots: int, threads: int) -> Driver:
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


_prepared: list[Driver] = []  # in a worker: the driver of its own slots


def _prepare(task: str, slots: int) -> None:
    _prepared[:] = [ours(task, slots)]


def _step(steps: int) -> int:
    return _prepared[0](steps)


def _in_all(
    workers: Sequence[Executor], function: Callable[..., Any], *arguments: Any
) -> list[Any]:
    """Call a function in every worker at the same time; return what each returns."""
    calls = [worker.submit(function, *arguments) for worker in workers]
    return [call.result() for call in calls]


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


def bench_worlds(
    steps_per_task: int,
    cores: int | None = None,
    tasks: Sequence[str] = TASKS,
    slots: int = _SLOTS,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measure steps per second of 200-step episodes with random actions, resets included.

    Rates are pooled over the tasks: equal steps in each, total steps over total time. All packages
    are measured on a task before the next task's turn, so that a machine whose speed drifts affects
    them equally. Loading models is not measured. Reward and observation are the classic ones,
    except in envpool, which has only the modern ones. Names that end in `_all` use all cores.
    """
    if steps_per_task < 1:
        raise BadValueError(f"{steps_per_task} steps per task: at least one is needed")
    cores = cores or available_cores()
    episodes = max(round(steps_per_task / (slots * HORIZON_STEPS)), 1)
    rows = {}
    with ExitStack() as started, safe_path():
        processes = [ProcessPoolExecutor(1, get_context("spawn")) for _ in range(cores)]
        workers = [started.enter_context(process) for process in processes]
        for task in tasks:
            progress(task)
            rows[task] = _bench_task(task, episodes * HORIZON_STEPS, slots, workers)
    pooled = _pooled(list(rows.values()))
    return pooled | {
        "ratio_1": pooled["ours_1"] / pooled["metaworld_1"],
        "ratio_all": pooled["ours_all"] / pooled["metaworld_1"],
        "cores": cores,
        "steps_per_task": episodes * slots * HORIZON_STEPS,
        "slots": slots,
        "memory_per_slot_bytes": apart(_measure_memory, tasks)[0],
        "tasks": [{"task": task} | _pooled([row]) for task, row in rows.items()],
    }


def _bench_task(task: str, steps: int, slots: int, workers: Sequence[Executor]) -> _Row:
    """Measure the steps and seconds of every package at one task."""
    row: _Row = dict.fromkeys(_LABELS)
    cores = len(workers)
    row["metaworld_1"] = _timed(_metaworld(task), steps * slots)
    row["ours_1"] = _timed(ours(task, slots), steps)
    if _has_envpool():
        # The others use one thread; envpool's single thread runs next to the caller's.
        with _one_core():
            row["envpool_1"] = _timed(_envpool(task, slots, 1), steps)
        row["envpool_all"] = _timed(_envpool(task, slots * cores, cores), steps)
    with safe_path():
        _in_all(workers, _prepare, task, slots)
    row["ours_all"] = _timed(lambda steps: sum(_in_all(workers, _step, steps)), steps)
    drive, close = _metaworld_async(task, cores)
    row["metaworld_async"] = _timed(drive, steps * slots // cores)
    close()
    return row


def _timed(drive: Driver, steps: int) -> tuple[int, float]:
    begin = time.perf_counter()
    taken = drive(steps)
    return taken, time.perf_counter() - begin


def _pooled(rows: Sequence[_Row]) -> dict[str, Any]:
    """Return total steps over total time of each, or None if the package is not installed."""
    rates: dict[str, Any] = dict.fromkeys(_LABELS)
    for name in _LABELS:
        measured = [each for row in rows if (each := row[name]) is not None]
        if measured:
            steps, seconds = np.sum(measured, axis=0)
            rates[name] = float(steps / seconds)
    return rates


def tables(result: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return what is shown of the result: steps per second, and how they compare."""
    shown = {name: label.format(result["cores"]) for name, label in _LABELS.items()}
    rows = [*result["tasks"], {"task": "all, pooled"} | result]
    ratios = {
        "ratio_to_metaworld_on_1_core": result["ratio_1"],
        f"ratio_on_{result['cores']}_cores": result["ratio_all"],
        "memory_per_slot_mb": result["memory_per_slot_bytes"] / 1e6,
    }
    return [
        [{"task": row["task"]} | {shown[name]: row[name] for name in shown} for row in rows],
        [ratios],
    ]
