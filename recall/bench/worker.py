"""Measure one worker's collecting step: processor time in all, of the physics and of the actor."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from recall.collect.policy import NumpyPolicy
from recall.collect.rolling import Actor, roll
from recall.collect.transition import Columns
from recall.settings import WorldSettings
from recall.worlds.episodes import Episodes
from recall.worlds.registry import horizon_steps, make_simulator
from recall.worlds.simulator import Array

_CHUNK_STEPS = 50
_CHUNKS = 40


def measure_worker(task: str, world: WorldSettings, actor: NumpyPolicy) -> dict[str, float]:
    """Return the microseconds of a step in this process, by part.

    The parts are measured apart, on the observations and actions of the whole: the physics by
    repeating the actions, the actor by acting on the observations. The rest is what remains.
    """
    columns = Columns(actor.shape.observation_size, actor.shape.action_size)
    rng = np.random.default_rng(0)
    rows = np.zeros((_CHUNKS, 1, _CHUNK_STEPS, columns.width), np.float32)
    draws = rng.standard_normal((_CHUNKS, 1, _CHUNK_STEPS, actor.shape.action_size))
    episodes = _episodes(task, world)

    def collect(chunk: int) -> None:
        roll(episodes, Actor([actor], draws[chunk]), rows[chunk], columns)

    def act(chunk: int) -> None:
        for row, noise in zip(rows[chunk, 0], draws[chunk, 0], strict=True):
            actor.act(row[: actor.shape.observation_size], noise)

    whole = _microseconds(collect)
    parts = {"physics_us": _physics(task, world, rows, columns), "actor_us": _microseconds(act)}
    return {"step_us": whole, **parts, "rest_us": whole - sum(parts.values())}


def processor_seconds(processes: Iterable[int]) -> float | None:
    """Return the processor time that running processes have used so far; None if unknown.

    Workers that share caches and memory with each other need more of it than one alone.
    """
    ticks = 0
    for process in processes:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # not Linux, or a worker that died
            return None
        ticks += int(fields[11]) + int(fields[12])  # in user and in kernel mode
    return ticks / os.sysconf("SC_CLK_TCK")


def _episodes(task: str, world: WorldSettings) -> Episodes:
    simulator = make_simulator(task, 1, world)
    episodes = Episodes(simulator, horizon_steps(task, world), [(0,)])
    episodes.start_all()
    return episodes


def _physics(task: str, world: WorldSettings, rows: Array, columns: Columns) -> float:
    """Return the microseconds of a step's physics with the rows' actions."""
    episodes = _episodes(task, world)
    simulator: Any = episodes.simulator  # of Continual World
    actions = columns.split(rows)[1].swapaxes(1, 2)  # [chunk, step, slot, act]
    grip = np.zeros(1)

    def step(chunk: int) -> None:
        if chunk * _CHUNK_STEPS % episodes.horizon_steps == 0:
            episodes.start(0)
        for action in actions[chunk]:
            simulator.move(action, simulator.bound, grip)

    return _microseconds(step)


def _microseconds(collect: Callable[[int], None]) -> float:
    """Return a step's median processor time over the chunks; most chunks hold no reset."""
    took = []
    for chunk in range(_CHUNKS):
        start = time.process_time_ns()
        collect(chunk)
        took.append((time.process_time_ns() - start) / _CHUNK_STEPS / 1e3)
    return float(np.median(took[4:]))
