"""Pool of workers: the memory they share with the parent, and the orders sent to them.

A worker that dies is restarted, put back to the state at the start of the chunk, and given the same
order. Its random numbers are the same, so it collects the same transitions. The parent reads the
shared rows only after every worker has answered. The shared memory is an unlinked file, so the
kernel frees it however the process ends, even if it is killed.
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
from recall.worlds.registry import registered_worlds
from recall.worlds.simulator import Array

_RESTARTS_PER_ORDER = 3
_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 1.0  # time that workers have to exit by themselves


class Abandoned(Exception):  # noqa: N818  (not an error)
    """Signal that episodes were interrupted because the pool's owner wants to stop."""


class ChunkRequest(NamedTuple):
    """Request to collect for one task in a chunk."""

    position: int
    first_step: int  # number of earlier steps of each run on this task
    policies: Array | None  # [run, size]; None means uniformly random actions


def never() -> bool:
    """Return False: the default for callers that never stop early."""
    return False


class Pool:
    """Workers of a fleet. They carry out one order at a time: a chunk, or episodes."""

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
        """Allocate the shared memory and start the workers.

        A chunk contains at most `most_at_once` tasks, and environments of at most `most_played`
        tasks exist at a time. `should_stop` is polled while episodes are played; if it returns
        True, they are abandoned.
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
        self._setup = Setup(
            tuple(runs), world, policy, chunk_steps, state_size, offsets, registered_worlds()
        )
        self._memory_file = tempfile.TemporaryFile(dir=_memory_folder())  # noqa: SIM115
        self._memory_file.truncate(total)
        memory = mmap.mmap(self._memory_file.fileno(), total)
        self.shared = map_arrays(memory, offsets)
        self._should_stop = should_stop
        self._positions: tuple[int, ...] = ()  # of the tasks whose environments exist
        self.restarts = 0
        self._processes = [WorkerProcess(part) for part in runs_of_workers(count, max(workers, 1))]
        for process in self._processes:
            process.launch(self._setup, self._memory_file.fileno())

    def begin(self, positions: Sequence[int], fresh: Sequence[int]) -> None:
        """Build the environments of the tasks at `positions` in every run, and close all others.

        The tasks in `fresh` start a new episode; the others continue from the shared states.
        """
        self._positions = ()
        for process in self._with_runs():
            process.send(Begin(tuple(positions), tuple(fresh), process.runs))
        self._answers(self._with_runs())
        self._positions = tuple(positions)
        self._commit()

    def order_chunk(self, requests: Sequence[ChunkRequest]) -> None:
        """Start a chunk of every requested task in every run."""
        for number, each in enumerate(requests):
            if each.policies is not None:
                self.shared["policy"][:, number] = each.policies
        parts = tuple(
            Part(each.position, each.first_step, each.policies is None) for each in requests
        )
        for process in self._with_runs():
            process.send(Chunk(parts))

    def wait_chunk(self) -> tuple[Array, list[tuple[int, int, Outcome]]]:
        """Wait for the ordered chunk and return its rows and the episodes that ended in it.

        Rows are [run, part, chunk, columns]. Episodes are (run, position of the task, outcome).
        """
        answers = self._answers(self._with_runs())
        self._commit()
        ended = [item for answer in answers for item in answer]
        ended.sort(key=lambda item: item[:2])
        return self.shared["rows"].copy(), ended

    def states(self) -> Array:
        """Return the environment states [run, place, state] from which the next chunk starts."""
        return self.shared["state"].copy()

    def set_states(self, states: Array) -> None:
        """Set the states from which `begin` continues tasks that are not fresh."""
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
        """Return the process ids of the workers."""
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
        """Return the answers of all busy workers, in order.

        Workers that die are restarted and given their order again.
        """
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
        """Start a new process in place of a dead one, in the same state and with the same order.

        If it dies during this, that is noticed when its answer is awaited.
        """
        self.restarts += 1
        order = process.order
        process.end(0.0)
        process.launch(self._setup, self._memory_file.fileno())
        if process.runs and self._positions:
            process.send(Begin(self._positions, (), process.runs), followed=True)
        process.send(order)


def default_workers() -> int:
    """Return the default number of workers, one per core."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_of_workers(runs: int, workers: int) -> list[tuple[int, ...]]:
    """Return the runs of each worker.

    Only as many workers get runs as are needed to minimise the runs of the busiest worker. The
    others have none and leave their cores to the learner, but still play episodes.
    """
    busy = -(-runs // -(-runs // workers))
    parts = [tuple(part.tolist()) for part in np.array_split(np.arange(runs), busy)]
    return parts + [()] * (workers - busy)


def _memory_folder() -> str | None:
    """Return a memory-backed folder if the system has one, else None."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


__all__ = ["Abandoned", "ChunkRequest", "Pool", "TaskFailedError", "WorkerDiedError"]
