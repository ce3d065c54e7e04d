"""The pool: workers, the memory they share with the parent, and orders to them.

A worker that dies is started again, put back to where the chunk began, and given the same order:
the random numbers are the same, so is what it rolls. The parent reads the shared rows only when
every worker has answered. The shared memory is an unlinked file, so the kernel takes it back on
every way out, a kill included.
"""

import contextlib
import mmap
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from recall.collect.orders import Begin, Chunk, Episode, EpisodeResult, Play, RunTasks, Setup
from recall.collect.policy import PolicyShape
from recall.collect.worker import map_arrays
from recall.columns import Columns
from recall.errors import RecallError
from recall.settings import WorldSettings
from recall.worlds.base import Array
from recall.worlds.episodes import Outcome

_RESTARTS_PER_ORDER = 3
# A worker computes with one thread: there is one worker per core.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerDiedError(RecallError):
    """A worker that could not be brought to finish an order."""


class _Process:
    """One worker as the parent sees it: process, socket, runs, the order it is busy with."""

    def __init__(self, runs: tuple[int, ...]):
        self.runs = runs
        self.order: Any = None
        self.restarts = 0

    def launch(self, setup: Setup, memory: int) -> None:
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recall.collect.worker", str(theirs.fileno()), str(memory)],
            pass_fds=(theirs.fileno(), memory),
            env=os.environ | _ONE_THREAD,
            stdin=subprocess.DEVNULL,
            # Ctrl-C goes to the parent alone, which then tells the workers.
            start_new_session=True,
        )
        theirs.close()
        self.connection = Connection(ours.detach())
        self.connection.send_bytes(cloudpickle.dumps(setup))

    def send(self, order: Any) -> None:
        self.order = order
        # A broken pipe is noticed and mended when the answer is awaited.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(cloudpickle.dumps(order))

    def stop(self) -> None:
        self.connection.close()
        try:
            self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


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
    ):
        self.columns = Columns(policy.observation_size, policy.action_size)
        count = len(runs)
        shapes = {
            "policy": ((count, policy.size), "float32"),
            "judged_policy": ((count, policy.size), "float32"),
            "rows": ((count, chunk_steps, self.columns.width), "float32"),
            "state": ((count, state_size), "float64"),
            "next_state": ((count, state_size), "float64"),
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
        parts = np.array_split(np.arange(count), min(max(workers, 1), max(count, workers)))
        self._processes = [_Process(tuple(int(run) for run in part)) for part in parts]
        self._position = 0
        self.restarts = 0
        for process in self._processes:
            process.launch(self._setup, self._memory_file.fileno())

    def begin_task(self, position: int, states: Array | None = None) -> None:
        """Take up the task at `position` in every run, afresh or from `states` [run, state]."""
        self._position = position
        if states is not None:
            self.shared["state"][:] = states
        for process in self._with_runs():
            process.send(Begin(position, process.runs, states is not None))
        self._answers(self._with_runs(), restore_before=states is not None)
        self._commit()

    def order_chunk(self, policies: Array | None, first_step: int) -> None:
        """Start a chunk in every run with flat `policies` [run, size]; None acts uniformly."""
        if policies is not None:
            self.shared["policy"][:] = policies
        for process in self._with_runs():
            process.send(Chunk(self._position, first_step, policies is None))

    def wait_chunk(self) -> tuple[Array, list[tuple[int, Outcome]]]:
        """The ordered chunk: rows [run, chunk, columns], and the episodes that ended in it."""
        answers = self._answers(self._with_runs(), restore_before=True)
        self._commit()
        ended = [item for answer in answers for item in answer]
        ended.sort(key=lambda item: item[0])
        return self.shared["rows"].copy(), ended

    def states(self) -> Array:
        """[run, state] of the environments, where the next chunk will start."""
        return self.shared["state"].copy()

    def play(self, policies: Array, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        """Play episodes with flat `policies` [run, size], spread over all workers."""
        self.shared["judged_policy"][:] = policies
        parts = np.array_split(np.arange(len(episodes)), len(self._processes))
        busy = []
        for process, part in zip(self._processes, parts, strict=True):
            if len(part):
                process.send(Play(tuple(episodes[int(index)] for index in part)))
                busy.append(process)
        return [result for answer in self._answers(busy, restore_before=True) for result in answer]

    def close(self) -> None:
        """End all workers."""
        for process in self._processes:
            process.stop()
        self._processes = []
        self._memory_file.close()

    def _with_runs(self) -> list[_Process]:
        return [process for process in self._processes if process.runs]

    def _commit(self) -> None:
        self.shared["state"][:] = self.shared["next_state"]

    def _answers(self, busy: list[_Process], restore_before: bool) -> list[Any]:
        """Everyone's answer, in order; the dead are restarted and asked again."""
        answers: dict[int, Any] = {}
        while len(answers) < len(busy):
            waiting = [process for i, process in enumerate(busy) if i not in answers]
            ready = wait([process.connection for process in waiting], timeout=1.0)
            for process in waiting:
                if process.connection in ready:
                    answer = self._receive(process, restore_before)
                    if answer is not None:
                        answers[busy.index(process)] = answer[0]
        for process in busy:
            process.order, process.restarts = None, 0
        return [answers[index] for index in range(len(busy))]

    def _receive(self, process: _Process, restore_before: bool) -> tuple[Any] | None:
        reason = "it ended without an answer"
        try:
            kind, answer = process.connection.recv()
            if kind == "done":
                return (answer,)
            reason = answer
        except (EOFError, ConnectionResetError):
            pass
        process.restarts += 1
        self.restarts += 1
        code = process.process.poll()
        if process.restarts > _RESTARTS_PER_ORDER:
            raise WorkerDiedError(
                f"a worker failed {process.restarts} times at the same order "
                f"({type(process.order).__name__}): {reason} (exit status {code})"
            )
        self._restart(process, restore_before)
        return None

    def _restart(self, process: _Process, restore_before: bool) -> None:
        order = process.order
        process.connection.close()
        process.process.kill()
        process.process.wait()
        process.launch(self._setup, self._memory_file.fileno())
        if restore_before and process.runs and not isinstance(order, Begin):
            process.send(Begin(self._position, process.runs, True))
            process.connection.recv()
        process.send(order)


def _memory_folder() -> str | None:
    """Memory-backed where the system has it."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
