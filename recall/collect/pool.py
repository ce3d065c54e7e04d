"""The pool: workers, the memory they share with the parent, and orders to them.

A worker that dies is started again, put back to where the chunk began, and given the same order:
the random numbers are the same, so is what it rolls. The parent reads the shared rows only when
every worker has answered. The shared memory is an unlinked file, so the kernel takes it back on
every way out, a kill included.
"""

import mmap
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recall.collect.messages import (
    Begin,
    Chunk,
    Episode,
    EpisodeResult,
    Part,
    Play,
    RunTasks,
    Setup,
)
from recall.collect.policy import PolicyShape
from recall.collect.transition import Columns
from recall.collect.worker import map_arrays
from recall.collect.worker_process import TaskFailedError, WorkerDiedError, WorkerProcess
from recall.settings import WorldSettings
from recall.worlds.episodes import Outcome
from recall.worlds.simulator import Array

_RESTARTS_PER_ORDER = 3
_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 1.0  # for workers to end by themselves


class Abandoned(Exception):  # noqa: N818  (nothing is wrong)
    """Episodes were left in the middle because the pool's owner wants to stop."""


class ChunkRequest(NamedTuple):
    """What is requested of one task in a chunk."""

    position: int
    first_step: int  # steps of each run on this task that came before
    policies: Array | None  # [run, size]; None acts uniformly


def never() -> bool:
    """Nobody asks to stop."""
    return False


class Pool:
    """Workers for a fleet. Orders one thing at a time: a chunk, or episodes."""

    def __init__(
        self,
        runs: Sequence[RunTasks],
        world: WorldSettings,
        policy: PolicyShape,
        chunk_steps: int,
        state_size: int,
        workers: int,
        should_stop: Callable[[], bool] = never,
        most_at_once: int = 1,
        most_played: int = 1,
    ):
        """At most `most_at_once` tasks are rolled in a chunk, and `most_played` stand ready.

        `should_stop` is asked while episodes are played; if true they are abandoned.
        """
        self.columns = Columns(policy.observation_size, policy.action_size)
        count = len(runs)
        shapes = {
            "policy": ((count, most_at_once, policy.size), "float32"),
            "eval_policy": ((count, policy.size), "float32"),
            "rows": ((count, most_at_once, chunk_steps, self.columns.width), "float32"),
            "state": ((count, most_played, state_size), "float64"),
            "next_state": ((count, most_played, state_size), "float64"),
        }
        offsets, total = {}, 0
        for name, (shape, dtype) in shapes.items():
            offsets[name] = (total, shape, dtype)
            total += -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // 64) * 64
        self._setup = Setup(tuple(runs), world, policy, chunk_steps, state_size, offsets)
        self._memory_file = tempfile.TemporaryFile(dir=_memory_folder())  # noqa: SIM115
        self._memory_file.truncate(total)
        memory = mmap.mmap(self._memory_file.fileno(), total)
        self.shared = map_arrays(memory, offsets)
        self._should_stop = should_stop
        self._positions: tuple[int, ...] = ()  # of the tasks that environments are in
        self.restarts = 0
        self._processes = [WorkerProcess(part) for part in runs_of_workers(count, max(workers, 1))]
        for process in self._processes:
            process.launch(self._setup, self._memory_file.fileno())

    def begin(self, positions: Sequence[int], fresh: Sequence[int]) -> None:
        """Take up the tasks at `positions` in every run, and leave all others.

        The `fresh` ones start from their beginning, the others go on from the states.
        """
        self._positions = ()
        for process in self._with_runs():
            process.send(Begin(tuple(positions), tuple(fresh), process.runs))
        self._answers(self._with_runs())
        self._positions = tuple(positions)
        self._commit()

    def order_chunk(self, requests: Sequence[ChunkRequest]) -> None:
        """Start a chunk of every wanted task in every run."""
        for number, each in enumerate(requests):
            if each.policies is not None:
                self.shared["policy"][:, number] = each.policies
        parts = tuple(
            Part(each.position, each.first_step, each.policies is None) for each in requests
        )
        for process in self._with_runs():
            process.send(Chunk(parts))

    def wait_chunk(self) -> tuple[Array, list[tuple[int, int, Outcome]]]:
        """The ordered chunk: rows [run, part, chunk, columns], and the episodes that ended in it.

        Episodes come with their run and their task's position.
        """
        answers = self._answers(self._with_runs())
        self._commit()
        ended = [item for answer in answers for item in answer]
        ended.sort(key=lambda item: item[:2])
        return self.shared["rows"].copy(), ended

    def states(self) -> Array:
        """[run, place, state] of the environments, where the next chunk will start."""
        return self.shared["state"].copy()

    def set_states(self, states: Array) -> None:
        """What tasks that are not begun afresh go on from."""
        self.shared["state"][:] = states

    def play(self, policies: Array, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        """Play episodes with flat `policies` [run, size], spread over all workers."""
        self.shared["eval_policy"][:] = policies
        parts = np.array_split(np.arange(len(episodes)), len(self._processes))
        busy = []
        for process, part in zip(self._processes, parts, strict=True):
            if len(part):
                process.send(Play(tuple(episodes[int(index)] for index in part)))
                busy.append(process)
        answers = self._answers(busy, self._should_stop)
        return [result for answer in answers for result in answer]

    def process_ids(self) -> list[int]:
        """Of the workers."""
        return [process.process.pid for process in self._processes]

    def close(self) -> None:
        """End all workers."""
        for process in self._processes:
            process.hang_up()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for process in self._processes:
            process.end(max(0.0, deadline - time.monotonic()))
        self._processes = []
        self._memory_file.close()

    def _with_runs(self) -> list[WorkerProcess]:
        return [process for process in self._processes if process.runs]

    def _commit(self) -> None:
        self.shared["state"][:] = self.shared["next_state"]

    def _answers(
        self, busy: list[WorkerProcess], should_stop: Callable[[], bool] = never
    ) -> list[Any]:
        """Everyone's answer, in order; the dead are restarted and asked again."""
        answers: dict[int, Any] = {}
        restarts = [0] * len(busy)
        while len(answers) < len(busy):
            waiting = {busy[i].connection: i for i in range(len(busy)) if i not in answers}
            for connection in wait(list(waiting), timeout=_POLL_SECONDS):
                index = waiting[connection]  # type: ignore[index]
                try:
                    answers[index] = busy[index].receive()
                except WorkerDiedError as error:
                    restarts[index] += 1
                    if restarts[index] > _RESTARTS_PER_ORDER:
                        raise
                    self._restart(busy[index], error)
            if should_stop():
                raise Abandoned
        return [answers[index] for index in range(len(busy))]

    def _restart(self, process: WorkerProcess, error: WorkerDiedError) -> None:
        """A new process in the old one's place, in the same state, with the same order.

        If it dies on the way, that is noticed when its answer is awaited.
        """
        self.restarts += 1
        order = process.order
        process.end(0.0)
        process.launch(self._setup, self._memory_file.fileno())
        if process.runs and self._positions:
            process.send(Begin(self._positions, (), process.runs), followed=True)
        process.send(order)


def default_workers() -> int:
    """One per core."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_of_workers(runs: int, workers: int) -> list[tuple[int, ...]]:
    """Which runs each worker rolls.

    As many workers as it takes for the busiest to have no more runs than it must; those left over
    leave their cores to the learner, and still play episodes.
    """
    busy = -(-runs // -(-runs // workers))
    parts = [tuple(part.tolist()) for part in np.array_split(np.arange(runs), busy)]
    return parts + [()] * (workers - busy)


def _memory_folder() -> str | None:
    """Memory-backed where the system has it."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


__all__ = ["Abandoned", "ChunkRequest", "Pool", "TaskFailedError", "WorkerDiedError"]
