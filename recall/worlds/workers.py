"""Worker processes with shared memory: starting them, sending orders, restarting and ending them.

What runs in a worker is in recall.worlds.serving. A worker that dies may be restarted and given the
same orders again. No worker outlives its parent, however the parent dies and whatever the worker
does at that moment.
"""

import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from recall.errors import RecallError
from recall.plugins.python_process import python_command
from recall.worlds.serving import map_arrays, tell
from recall.worlds.simulator import TaskFailedError

Shapes = Mapping[str, tuple[tuple[int, ...], Any]]  # of shared arrays: shape and dtype

_POLL_SECONDS = 0.2
_SILENT_SECONDS = 20.0  # without any progress, after which a worker is reported
_PATIENCE_SECONDS = 1.0  # time that workers have to exit by themselves
# A worker computes with one thread, because there are enough workers for all cores.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerDiedError(RecallError, RuntimeError):
    """A worker process ended without an answer."""


class Abandoned(RecallError):  # noqa: N818  (not an error)
    """Signal that answers are no longer waited for, because their owner wants to stop."""


def never() -> bool:
    """Return False: the default for callers that never stop early."""
    return False


def nothing(process: "WorkerProcess") -> Any:
    """Return None: the default for workers that need no order to get back to their state."""
    return None


class WorkerGroup:
    """Workers that carry out their orders one after the other, and the memory shared with them."""

    if_killed = ""  # what a user may do if workers are killed again and again

    def __init__(
        self,
        service: type,
        setup: Any,
        parts: Sequence[Any],
        shapes: Shapes,
        describe: Callable[["WorkerProcess"], str],
        restarts_per_order: int = 3,
        put_back: Callable[["WorkerProcess"], Any] = nothing,
        niceness: int = 0,
    ):
        """Allocate the shared arrays and start one worker for each of the `parts`.

        `describe` says what a worker is doing, such as "collecting transitions of push". `put_back`
        returns the order that brings a restarted worker to the state at the start of its oldest
        unanswered order, or None. `niceness` lowers the priority of the workers.
        """
        shapes = {"pulse": ((max(len(parts), 1), 2), np.int64), **shapes}
        offsets, total = {}, 0
        for name, (shape, dtype) in shapes.items():
            offsets[name] = (total, shape, np.dtype(dtype).str)
            total += -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // 64) * 64
        self._memory_file = _make_memory(total)
        self.shared = map_arrays(self._memory_file, offsets)
        self.describe, self.restarts_per_order = describe, restarts_per_order
        self._put_back = put_back
        self._first = cloudpickle.dumps((setup, offsets))
        self.restarts = 0
        self.processes: list[WorkerProcess] = []
        try:
            for index, part in enumerate(parts):
                process = WorkerProcess(index, part, service, self._memory_file, niceness)
                self.processes.append(process)
                process.launch(self._first)
        except BaseException:
            self.close()
            raise

    def restart(self, process: "WorkerProcess", why: Exception) -> None:
        """Replace a dead process by a new one in the same state and with the same orders."""
        self.restarts += 1
        if self.restarts == 1:
            tell(f"{why} and is restarted, which does not change results. More are only counted")
        process.restart(self._first, self._put_back(process))

    def given_up(self, process: "WorkerProcess", died: Exception) -> WorkerDiedError:
        """Return the error about a worker that has died too often."""
        killed = (process.process.poll() or -1) < 0
        told = self.if_killed if killed else "What it printed before, if anything, says why"
        return WorkerDiedError(f"{died}. {told}" if told else str(died))

    def pulse(self, process: "WorkerProcess") -> tuple[int, int]:
        """Return the steps of a worker so far, and what its service says it works on."""
        steps, place = self.shared["pulse"][process.index].tolist()
        return steps, place

    def process_ids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [process.process.pid for process in self.processes]

    def close(self) -> None:
        """End all workers. They close their tasks; those that take too long are killed."""
        if self.processes and self.restarts > 1:
            tell(f"{self.restarts} worker processes ended and were restarted in all")
        for process in self.processes:
            process.hang_up()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for process in self.processes:
            process.end(max(0.0, deadline - time.monotonic()))
        self.processes = []
        if self._memory_file >= 0:
            os.close(self._memory_file)
            self._memory_file = -1


class Answers:
    """Answers to the oldest orders of busy workers, as they arrive."""

    def __init__(self, group: WorkerGroup, busy: Sequence["WorkerProcess"] | None = None):
        self._group, self._busy = group, list(group.processes if busy is None else busy)
        self._found: list[Any] = [None] * len(self._busy)
        self._missing = dict(enumerate(self._busy))
        self._restarts = [0] * len(self._busy)
        self._failures: list[Exception] = []
        self._poller = select.poll()
        self._index: dict[int, int] = {}  # of a worker, by its socket
        for index in self._missing:
            self._listen(index)

    def _listen(self, index: int) -> None:
        socket_number = self._busy[index].connection.fileno()
        self._index[socket_number] = index
        self._poller.register(socket_number, select.POLLIN)

    def arrive(self, seconds: float = 0.0) -> bool:
        """Receive what arrives within `seconds`; return True once every worker has answered.

        Workers that die are restarted and given their orders again.
        """
        ready = self._poller.poll(seconds * 1000) if self._missing else ()
        for socket_number, _ in ready:
            index = self._index[socket_number]
            process = self._busy[index]
            self._poller.unregister(socket_number)
            try:
                self._found[index] = process.receive()
            except TaskFailedError as failure:
                self._failures.append(failure)
            except EOFError:
                died = process.how_it_ended(self._group.describe(process))
                self._restarts[index] += 1
                if self._restarts[index] > self._group.restarts_per_order:
                    raise self._group.given_up(process, died) from None
                self._group.restart(process, died)
                self._listen(index)
                continue
            del self._missing[index]
        return not self._missing

    def wait(
        self,
        should_stop: Callable[[], bool] = never,
        patience_seconds: float = 0.0,
        until_all_answered: bool = False,
    ) -> list[Any]:
        """Return the answers of all workers, in order.

        Raises Abandoned `patience_seconds` after `should_stop`, and TaskFailedError for the first
        failure, perhaps only when all have answered.
        """
        watch = _Watch(self._group)
        stop_at: float | None = None
        while not self.arrive(_POLL_SECONDS):
            if self._failures and not until_all_answered:
                break
            watch.look(self._missing.values())
            if stop_at is None and should_stop():
                stop_at = time.monotonic() + patience_seconds
            if stop_at is not None and time.monotonic() >= stop_at:
                doing = self._group.describe(next(iter(self._missing.values())))
                raise Abandoned(f"stopped while a worker process was still {doing}")
        if self._failures:
            raise self._failures[0]
        return self._found


class _Watch:
    """Reports each worker whose pulse has stood still for some seconds, once."""

    def __init__(self, group: WorkerGroup):
        self._group = group
        self._seen: dict[int, tuple[tuple[int, int], float]] = {}  # pulse, and since when

    def look(self, processes: Any) -> None:
        """Look at the workers that have not answered."""
        now = time.monotonic()
        for process in processes:
            pulse = self._group.pulse(process)
            before, since = self._seen.setdefault(process.index, (pulse, now))
            if before != pulse:
                self._seen[process.index] = (pulse, now)
            elif now - since > _SILENT_SECONDS:
                doing = self._group.describe(process)
                tell(f"nothing has happened for {now - since:.0f} s while {doing}")
                self._seen[process.index] = (pulse, float("inf"))


class WorkerProcess:
    """Worker process with its socket, its part, and the orders that it has not answered."""

    def __init__(self, index: int, part: Any, service: type, memory_file: int, niceness: int):
        self.index, self.part = index, part
        self.orders: deque[Any] = deque()
        self._service, self._memory_file, self._niceness = service, memory_file, niceness
        self._answers_to_skip = 0
        self._sending = threading.Lock()  # one thread may send while another restarts the process

    def launch(self, first: bytes) -> None:
        """Start the process and send it the first message."""
        (ours, theirs), (self._lifeline, their_lifeline) = socket.socketpair(), socket.socketpair()
        inherited = (theirs.fileno(), their_lifeline.fileno(), self._memory_file)
        module, name = self._service.__module__, self._service.__qualname__
        self.process = subprocess.Popen(
            # A task's function may come from the user's script, or from a module beside it.
            python_command(
                f"from recall.worlds.serving import main; from {module} import {name}",
                f"main({name}, *map(int, sys.argv[1:]))",
                *inherited,
                self._niceness,
            ),
            pass_fds=inherited,
            env=os.environ | _ONE_THREAD,
            stdin=subprocess.DEVNULL,
            # Ctrl-C then reaches only the parent, which tells the workers. Not a new session: Linux
            # shares the cores out between sessions first, and niceness counts within one only.
            process_group=0,
        )
        theirs.close()
        their_lifeline.close()
        self.connection = Connection(ours.detach())
        self._answers_to_skip = 0
        self._write(first)
        self._write(pickle.dumps((self.index, self.part)))

    def send(self, order: Any) -> None:
        """Send an order, which is carried out after those before it."""
        with self._sending:
            self.orders.append(order)
            self._write(pickle.dumps(order))

    def restart(self, first: bytes, put_back: Any) -> None:
        """Start a new process and send it the unanswered orders again, after `put_back` if any.

        If it dies during this, that is noticed when its answer is awaited.
        """
        with self._sending:
            self.end(0.0)
            self.launch(first)
            if put_back is not None:
                self._answers_to_skip = 1
                self._write(pickle.dumps(put_back))
            for order in self.orders:
                self._write(pickle.dumps(order))

    def _write(self, message: bytes) -> None:
        # A broken pipe is noticed and handled when the answer is awaited.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(message)

    def receive(self) -> Any:
        """Wait for the answer to the oldest order and return it; raise EOFError if it died."""
        while True:
            try:
                failure, answer = self.connection.recv()
            except OSError as error:  # killed in the middle of an answer
                raise EOFError from error
            if not self._answers_to_skip:
                self.orders.popleft()
            if failure is not None:
                raise TaskFailedError(failure)
            if not self._answers_to_skip:
                return answer
            self._answers_to_skip -= 1

    def how_it_ended(self, doing: str) -> WorkerDiedError:
        """Return the error that says how the process ended."""
        status: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self.process.wait(timeout=1.0)
        how = "without an exit status" if status is None else how_it_ended(status)
        return WorkerDiedError(f"a worker process ended {how} while {doing}")

    def hang_up(self) -> None:
        """Ask the process to close its tasks and exit after the orders that it has."""
        if hasattr(self, "connection"):
            with contextlib.suppress(OSError):
                self._write(pickle.dumps(None))

    def end(self, patience_seconds: float) -> None:
        """Wait for the process to exit, and kill it after `patience_seconds`."""
        if not hasattr(self, "process"):
            return
        try:
            self.process.wait(timeout=patience_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.connection.close()
        self._lifeline.close()


def how_it_ended(status: int) -> str:
    """Return how a process with this exit status ended, such as "with code 1" or "by SIGTERM"."""
    if status >= 0:
        return f"with code {status}"
    number = -status
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    hint = ", which the system sends when memory runs out," if number == signal.SIGKILL else ""
    return f"by {name}{hint}"


def _make_memory(size: int) -> int:
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
