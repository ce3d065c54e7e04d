"""Measure environment steps per second, next to Meta-World and envpool, in one run."""

import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from recall.bench import baselines
from recall.collect.cores import cores as available_cores
from recall.errors import BadValueError
from recall.worlds.continual_world import HORIZON_STEPS, TASKS, make_simulator
from recall.worlds.episodes import Episodes

SLOTS = 10  # of a task, in one process
_MEMORY_SLOTS = 64
# Steps and seconds, or None for a package that is not installed.
_Row = dict[str, tuple[int, float] | None]
_MEASURES = (
    "ours_1",
    "ours_all",
    "metaworld_1",
    "metaworld_async",
    "envpool_1",
    "envpool_all",
)

STEPS_PER_TASK = 4000


def ours(task: str, slots: int) -> baselines.Driver:
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


class _Crew:
    """Worker processes, one per core, that step their own slots of a task at the same time."""

    def __init__(self, workers: int, slots: int):
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._workers = []
        for _ in range(workers):
            here, there = context.Pipe()
            worker = context.Process(target=_work, args=(there, slots), daemon=True)
            worker.start()
            self._pipes.append(here)
            self._workers.append(worker)

    def _ask(self, order: str | int) -> int:
        for pipe in self._pipes:
            pipe.send(order)
        return sum(pipe.recv() for pipe in self._pipes)

    def driver(self, task: str) -> baselines.Driver:
        """Return a driver that makes all workers step `task`."""
        self._ask(task)
        return self._ask

    def close(self) -> None:
        """End the workers."""
        for pipe in self._pipes:
            pipe.send(None)
        for worker in self._workers:
            worker.join()


def _work(pipe: Connection, slots: int) -> None:
    """Run a worker: a task's name prepares its slots, a number steps them."""
    drive = None
    while (order := pipe.recv()) is not None:
        if isinstance(order, str):
            drive = ours(order, slots)
            pipe.send(0)
        else:
            assert drive is not None
            pipe.send(drive(order))


def _timed(drive: baselines.Driver, steps: int) -> tuple[int, float]:
    begin = time.perf_counter()
    taken = drive(steps)
    return taken, time.perf_counter() - begin


def _resident_bytes() -> int:
    told = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, text=True, check=True
    )
    return int(told.stdout) * 1024


def _measure_memory(pipe: Connection, tasks: Sequence[str]) -> None:
    """Measure, in its own process, how much memory more slots of every task add, per slot."""
    grown = []
    for task in tasks:
        few = ours(task, 1)
        few(5)
        before = _resident_bytes()
        many = ours(task, 1 + _MEMORY_SLOTS)
        many(5)
        grown.append((_resident_bytes() - before) / _MEMORY_SLOTS)
    pipe.send(float(np.mean(grown)))


def memory_per_slot_bytes(tasks: Sequence[str] = TASKS) -> int:
    """Return the memory of one slot in bytes, as the mean over the tasks."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=_measure_memory, args=(there, tasks), daemon=True)
    worker.start()
    result = int(here.recv())
    worker.join()
    return result


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
    steps_per_task: int = STEPS_PER_TASK,
    cores: int | None = None,
    tasks: Sequence[str] = TASKS,
    slots: int = SLOTS,
    progress: Callable[[str], None] | None = None,
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
    crew = _Crew(cores, slots)
    rows = []
    for task in tasks:
        if progress is not None:
            progress(task)
        rows.append(_bench_task(task, episodes, slots, cores, crew))
    crew.close()
    result: dict[str, Any] = {name: _pooled(rows, name) for name in _MEASURES}
    result["ratio_1"] = result["ours_1"] / result["metaworld_1"]
    result["ratio_all"] = result["ours_all"] / result["metaworld_1"]
    result["cores"] = cores
    result["steps_per_task"] = episodes * slots * HORIZON_STEPS
    result["slots"] = slots
    result["memory_per_slot_bytes"] = memory_per_slot_bytes(tasks)
    result["tasks"] = [
        {"task": task} | {name: _pooled([row], name) for name in _MEASURES}
        for task, row in zip(tasks, rows, strict=True)
    ]
    return result


def _bench_task(task: str, episodes: int, slots: int, cores: int, crew: _Crew) -> _Row:
    """Measure the steps and seconds of every package at one task."""
    steps = episodes * HORIZON_STEPS
    row: _Row = dict.fromkeys(_MEASURES)
    row["metaworld_1"] = _timed(baselines.metaworld(task), steps * slots)
    row["ours_1"] = _timed(ours(task, slots), steps)
    if baselines.has_envpool():
        # The others use one thread; envpool's single thread runs next to the caller's.
        with _one_core():
            row["envpool_1"] = _timed(baselines.envpool(task, slots, 1), steps)
        row["envpool_all"] = _timed(baselines.envpool(task, slots * cores, cores), steps)
    row["ours_all"] = _timed(crew.driver(task), steps)
    drive, close = baselines.metaworld_async(task, cores)
    row["metaworld_async"] = _timed(drive, steps * slots // cores)
    close()
    return row


def _pooled(rows: list[_Row], name: str) -> float | None:
    """Return total steps over total time, or None if the package is not installed."""
    measured = [each for row in rows if (each := row[name]) is not None]
    if len(measured) < len(rows):
        return None
    steps, seconds = np.sum(measured, axis=0)
    return float(steps / seconds)


def print_table(result: dict[str, Any]) -> None:
    """Print the result as a table."""
    from rich.console import Console
    from rich.table import Table

    cores = result["cores"]
    labels = {
        "ours_1": "recall\n1 core",
        "ours_all": f"recall\n{cores} cores",
        "metaworld_1": "metaworld\n1 core",
        "metaworld_async": f"metaworld\nasync {cores}",
        "envpool_1": "envpool\n1 core",
        "envpool_all": f"envpool\n{cores} cores",
    }
    table = Table(title="Environment steps per second, resets included")
    table.add_column("task", no_wrap=True)
    for name in _MEASURES:
        table.add_column(labels[name], justify="right")
    for row in result["tasks"]:
        table.add_row(row["task"], *(_rate(row[name]) for name in _MEASURES))
    table.add_section()
    table.add_row("all, pooled", *(_rate(result[name]) for name in _MEASURES), style="bold")
    console = Console()
    console.print(table)
    console.print(
        f"Beside metaworld on one core: {result['ratio_1']:.2f} times on one, "
        f"{result['ratio_all']:.2f} times on {cores}. "
        f"Memory: {result['memory_per_slot_bytes'] / 1e6:.2f} MB per slot."
    )


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
