"""Worker processes with the memory that they share, and the orders that they carry out.

A worker that dies is restarted and given the same orders again. Its random numbers are the same, so
its answers are the same too.
"""

import dataclasses
import mmap
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np

from recall.collect.messages import Play, Setup
from recall.collect.worker import map_arrays
from recall.collect.worker_process import WorkerDiedError, WorkerProcess

_RESTARTS_PER_ORDER = 3
_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 1.0  # time that workers have to exit by themselves


class Abandoned(Exception):  # noqa: N818  (not an error)
    """Signal that episodes were interrupted because their owner wants to stop."""


def never() -> bool:
    """Return False: the default for callers that never stop early."""
    return False


def nothing(process: WorkerProcess) -> Any:
    """Return None: the default for workers that need no order to get back to their state."""
    return None


class Crew:
    """Workers that carry out their orders one after the other, and the memory shared with them."""

    def __init__(
        self,
        setup: Setup,
        shapes: Mapping[str, tuple[tuple[int, ...], str]],
        environments: Sequence[tuple[int, ...]],
        niceness: int = 0,
        put_back: Callable[[WorkerProcess], Any] = nothing,
    ):
        """Allocate the shared arrays and start one worker for each element of `environments`.

        `put_back` returns the order that brings a restarted worker to the state at the start of
        its oldest unanswered order, or None. `niceness` lowers the priority of the workers.
        """
        offsets, total = {}, 0
        for name, (shape, dtype) in shapes.items():
            offsets[name] = (total, shape, dtype)
            total += -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // 64) * 64
        self._setup = dataclasses.replace(setup, offsets=offsets)
        self._memory_file = make_memory(total)
        self.shared = map_arrays(mmap.mmap(self._memory_file, total), offsets)
        self._put_back = put_back
        self.restarts = 0
        self.processes = [WorkerProcess(part, niceness) for part in environments]
        for process in self.processes:
            process.launch(self._setup, self._memory_file)

    def restart(self, process: WorkerProcess) -> None:
        """Replace a dead process by a new one in the same state and with the same orders."""
        self.restarts += 1
        process.restart(self._setup, self._memory_file, self._put_back(process))

    def play(self, batches: Sequence[Sequence[Any]]) -> "Answers":
        """Have worker i play the episodes of batch i; there are at most as many as workers."""
        busy = [process for process, batch in zip(self.processes, batches, strict=False) if batch]
        for process, batch in zip(busy, filter(None, batches), strict=True):
            process.send(Play(tuple(batch)))
        return Answers(self, busy)

    def close(self) -> None:
        """End all workers."""
        for process in self.processes:
            process.hang_up()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for process in self.processes:
            process.end(max(0.0, deadline - time.monotonic()))
        if self.processes:
            os.close(self._memory_file)
        self.processes = []


class Answers:
    """Answers to the oldest orders of busy workers, as they arrive."""

    def __init__(self, crew: Crew, busy: Sequence[WorkerProcess]):
        self._crew, self._busy = crew, list(busy)
        self._found: dict[int, Any] = {}
        self._restarts = [0] * len(busy)

    def arrive(self, seconds: float = 0.0) -> bool:
        """Receive what arrives within `seconds`; return True once every worker has answered.

        Workers that die are restarted and given their orders again.
        """
        missing = [index for index in range(len(self._busy)) if index not in self._found]
        waiting = {self._busy[index].connection: index for index in missing}
        for connection in wait(list(waiting), timeout=seconds) if waiting else ():
            index = waiting[connection]  # type: ignore[index]
            try:
                self._found[index] = self._busy[index].receive()
            except WorkerDiedError:
                self._restarts[index] += 1
                if self._restarts[index] > _RESTARTS_PER_ORDER:
                    raise
                self._crew.restart(self._busy[index])
        return len(self._found) == len(self._busy)

    def wait(self, should_stop: Callable[[], bool] = never) -> list[Any]:
        """Return the answers of all workers, in order; raise Abandoned if `should_stop`."""
        while not self.arrive(_POLL_SECONDS):
            if should_stop():
                raise Abandoned
        return [self._found[index] for index in range(len(self._busy))]


def make_memory(size: int) -> int:
    """Return the descriptor of a file in memory that has no name.

    The kernel frees it however the process ends, even if it is killed. Where the system has
    anonymous files, the size of /dev/shm, which is small in many containers, does not matter.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("recall")
    else:
        folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
        with tempfile.TemporaryFile(dir=folder) as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, size)
    return descriptor
