"""Measure environment steps per second, next to Meta-World and envpool, in one run."""

import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from recall.bench import baselines
from recall.collect.cores import cores as available_cores
from recall.errors import BadValueError
from recall.plugins.python_process import safe_path
from recall.worlds.continual_world import HORIZON_STEPS, TASKS, make_simulator
from recall.worlds.episodes import Episodes

STEPS_PER_TASK = 4000
_SLOTS = 10  # of a task, in one process
_MEMORY_SLOTS = 64
_LABELS = {
    "ours_1": "recall\n1 core",
    "ours_all": "recall\n{} cores",
    "metaworld_1": "metaworld\n1 core",
    "metaworld_async": "metaworld\nasync {}",
    "envpool_1": "envpool\n1 core",
    "envpool_all": "envpool\n{} cores",
}
# Steps and seconds of each, or None for a package that is not installed.
_Row = dict[str, tuple[int, float] | None]


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


def _spawn(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = multiprocessing.get_context("spawn").Process(
        target=target, args=arguments, daemon=True
    )
    with safe_path():
        process.start()
    return process


class _WorkerGroup:
    """Worker processes, one per core, that step their own slots of a task at the same time."""

    def __init__(self, workers: int, slots: int):
        pipes = [multiprocessing.Pipe() for _ in range(workers)]
        self._pipes = [here for here, _ in pipes]
        self._workers = [_spawn(_work, there, slots) for _, there in pipes]

    def ask(self, order: str | int) -> int:
        """Send every worker a task to prepare, or a number of steps; return the steps of all."""
        for pipe in self._pipes:
            pipe.send(order)
        return sum(pipe.recv() for pipe in self._pipes)

    def close(self) -> None:
        """End the workers."""
        for pipe, worker in zip(self._pipes, self._workers, strict=True):
            pipe.send(None)
            worker.join()


def _work(pipe: Connection, slots: int) -> None:
    """Run a worker: a task's name prepares its slots, a number steps them."""
    drive: baselines.Driver = ours(TASKS[0], slots)
    while (order := pipe.recv()) is not None:
        if isinstance(order, str):
            drive = ours(order, slots)
            pipe.send(0)
        else:
            pipe.send(drive(order))


def _measure_memory(pipe: Connection, tasks: Sequence[str]) -> None:
    """Send the bytes of memory that a slot adds, as the mean over the tasks."""
    grown = []
    for task in tasks:
        ours(task, 1)(5)
        before = _resident_bytes()
        many = ours(task, 1 + _MEMORY_SLOTS)
        many(5)
        grown.append((_resident_bytes() - before) / _MEMORY_SLOTS)
    pipe.send(int(np.mean(grown)))


def _resident_bytes() -> int:
    command = ["ps", "-o", "rss=", "-p", str(os.getpid())]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) * 1024


def _memory_per_slot_bytes(tasks: Sequence[str]) -> int:
    """Return the memory of one slot in bytes, measured in its own process."""
    here, there = multiprocessing.Pipe()
    worker = _spawn(_measure_memory, there, tasks)
    result: int = here.recv()
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
    workers = _WorkerGroup(cores, slots)
    rows = {}
    for task in tasks:
        progress(task)
        rows[task] = _bench_task(task, episodes * HORIZON_STEPS, slots, cores, workers)
    workers.close()
    pooled = _pooled(list(rows.values()))
    return pooled | {
        "ratio_1": pooled["ours_1"] / pooled["metaworld_1"],
        "ratio_all": pooled["ours_all"] / pooled["metaworld_1"],
        "cores": cores,
        "steps_per_task": episodes * slots * HORIZON_STEPS,
        "slots": slots,
        "memory_per_slot_bytes": _memory_per_slot_bytes(tasks),
        "tasks": [{"task": task} | _pooled([row]) for task, row in rows.items()],
    }


def _bench_task(task: str, steps: int, slots: int, cores: int, workers: _WorkerGroup) -> _Row:
    """Measure the steps and seconds of every package at one task."""
    row: _Row = dict.fromkeys(_LABELS)
    row["metaworld_1"] = _timed(baselines.metaworld(task), steps * slots)
    row["ours_1"] = _timed(ours(task, slots), steps)
    if baselines.has_envpool():
        # The others use one thread; envpool's single thread runs next to the caller's.
        with _one_core():
            row["envpool_1"] = _timed(baselines.envpool(task, slots, 1), steps)
        row["envpool_all"] = _timed(baselines.envpool(task, slots * cores, cores), steps)
    workers.ask(task)
    row["ours_all"] = _timed(workers.ask, steps)
    drive, close = baselines.metaworld_async(task, cores)
    row["metaworld_async"] = _timed(drive, steps * slots // cores)
    close()
    return row


def _timed(drive: baselines.Driver, steps: int) -> tuple[int, float]:
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


def print_table(result: dict[str, Any]) -> None:
    """Print the result as a table."""
    cores = result["cores"]
    table = Table(title="Environment steps per second, resets included")
    table.add_column("task", no_wrap=True)
    for label in _LABELS.values():
        table.add_column(label.format(cores), justify="right")
    for row in result["tasks"]:
        table.add_row(row["task"], *_rates(row))
    table.add_section()
    table.add_row("all, pooled", *_rates(result), style="bold")
    console = Console()
    console.print(table)
    console.print(
        f"Beside metaworld on one core: {result['ratio_1']:.2f} times on one, "
        f"{result['ratio_all']:.2f} times on {cores}. "
        f"Memory: {result['memory_per_slot_bytes'] / 1e6:.2f} MB per slot."
    )


def _rates(row: dict[str, Any]) -> Iterator[str]:
    return ("-" if row[name] is None else f"{row[name]:,.0f}" for name in _LABELS)
