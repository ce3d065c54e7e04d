"""Worker processes with shared memory: starting them, sending orders, restarting and ending them.

What runs in a worker is in recall.worlds.serving. No worker outlives its parent, however it dies.
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
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import numpy as np

from recall.errors import RecallError
from recall.plugins.python_process import python_command
from recall.worlds.gym_registration import registrations_for
from recall.worlds.registry import Task
from recall.worlds.serving import map_arrays, tell
from recall.worlds.simulator import TaskFailedError

Shapes = Mapping[str, tuple[tuple[int, ...], Any]]  # of shared arrays: shape and dtype

_POLL_SECONDS = 0.2
_SILENT_SECONDS = 20.0  # without a step of any worker, after which one of them is named
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


class WorkerGroup:
    """Workers that carry out their orders one after the other, and the memory shared with them."""

    service: type  # what each worker makes and serves, see recall.worlds.serving
    niceness = 0  # of the workers; positive numbers lower their priority
    restarts_per_order = 3
    if_killed = ""  # what a user may do if workers are killed again and again

    def __init__(
        self, setup: Any, parts: Sequence[Any], shapes: Shapes, tasks: Collection[Task] = ()
    ):
        """Allocate the shared arrays and start one worker, which can make `tasks`, per part."""
        offsets, total = {}, 0
        for name, (shape, dtype) in shapes.items():
            offsets[name] = (total, shape, np.dtype(dtype))
            total += -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // 64) * 64
        self.memory_file = _make_memory(total)
        self.shared = map_arrays(self.memory_file, offsets)
        self.first_message = cloudpickle.dumps((registrations_for(tasks), setup, offsets))
        self.restarts = 0
        self.processes: list[WorkerProcess] = []
        try:
            for index, part in enumerate(parts):
                self.processes.append(WorkerProcess(self, index, part))
        except BaseException:
            self.close()
            raise

    def describe(self, process: "WorkerProcess") -> str:
        """Return what a worker is doing, such as "collecting transitions of push"."""
        raise NotImplementedError

    def progress(self) -> int:
        """Return a number that changes with every step of a worker, as far as that is known."""
        return 0

    def put_back(self, process: "WorkerProcess") -> Any:
        """Return the order that brings a restarted worker to where its oldest order starts."""
        return None

    def restart(self, process: "WorkerProcess", times: int) -> None:
        """Replace a process that died during its oldest order, unless it did so too often."""
        died = f"a worker process ended {process.how_it_ended()} while {self.describe(process)}"
        if times > self.restarts_per_order:
            killed = (process.process.poll() or -1) < 0
            told = self.if_killed if killed else "What it printed before, if anything, says why"
            raise WorkerDiedError(f"{died}. {told}" if told else died)
        self.restarts += 1
        if self.restarts == 1:
            tell(f"{died} and is restarted, which does not change results. More are only counted")
        process.restart(self.put_back(process))

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
        if self.memory_file >= 0:
            os.close(self.memory_file)
            self.memory_file = -1


class Answers:
    """Answers to the oldest orders of busy workers, as they arrive."""

    def __init__(self, group: WorkerGroup, busy: Sequence["WorkerProcess"] | None = None):
        self._group, self._busy = group, list(group.processes if busy is None else busy)
        self._found: list[Any] = [None] * len(self._busy)
        self._failures: list[TaskFailedError] = []
        self._restarts: Counter[int] = Counter()
        self._poller = select.poll()
        self._missing: dict[int, int] = {}  # index of each worker that works, by its socket
        for index in range(len(self._busy)):
            self._listen(index)

    def _listen(self, index: int) -> None:
        socket_number = self._busy[index].connection.fileno()
        self._missing[socket_number] = index
        self._poller.register(socket_number, select.POLLIN)

    def arrive(self, seconds: float = 0.0) -> bool:
        """Receive what arrives within `seconds`; return True once every worker has answered."""
        ready = self._poller.poll(seconds * 1000) if self._missing else ()
        for socket_number, _ in ready:
            index = self._missing.pop(socket_number)
            self._poller.unregister(socket_number)
            try:
                self._found[index] = self._busy[index].receive()
            except TaskFailedError as failure:
                self._failures.append(failure)
            except EOFError:
                self._restarts[index] += 1
                self._group.restart(self._busy[index], self._restarts[index])
                self._listen(index)
        return not self._missing

    def wait(
        self, should_stop: Callable[[], bool] = never, patience_seconds: float = 0.0
    ) -> list[Any]:
        """Return the answers of all workers, in order.

        Raises TaskFailedError for the first failure once all have answered, or a second later if
        some have not, and Abandoned `patience_seconds` after `should_stop`.
        """
        stop_at: float | None = None
        progress, since = self._group.progress(), time.monotonic()
        while not self.arrive(_POLL_SECONDS):
            if self._group.progress() != progress:
                progress, since = self._group.progress(), time.monotonic()
            elif time.monotonic() - since > _SILENT_SECONDS:
                tell(f"nothing has happened for {_SILENT_SECONDS:.0f} s while {self._late()}")
                since = float("inf")
            if stop_at is None and (self._failures or should_stop()):
                patience = _PATIENCE_SECONDS if self._failures else patience_seconds
                stop_at = time.monotonic() + patience
            if stop_at is not None and time.monotonic() >= stop_at:
                if self._failures:
                    break
                raise Abandoned(f"stopped while a worker process was still {self._late()}")
        if self._failures:
            raise self._failures[0]
        return self._found

    def _late(self) -> str:
        """Return what the first worker that has not answered is doing."""
        return self._group.describe(self._busy[next(iter(self._missing.values()))])


class WorkerProcess:
    """Worker process with its socket, its part, and the orders that it has not answered."""

    def __init__(self, group: WorkerGroup, index: int, part: Any):
        self.index, self.part = index, part
        self.orders: deque[Any] = deque()
        self._group = group
        self._sending = threading.Lock()  # one thread may send while another restarts the process
        self._launch()

    def _launch(self, put_back: Any = None) -> None:
        """Start the process and send it what it needs to make what it serves."""
        (ours, theirs), (self._lifeline, their_lifeline) = socket.socketpair(), socket.socketpair()
        inherited = (theirs.fileno(), their_lifeline.fileno(), self._group.memory_file)
        module, name = self._group.service.__module__, self._group.service.__qualname__
        self.process = subprocess.Popen(
            # A task's function may come from the user's script, or from a module beside it.
            python_command(
                f"from recall.worlds.serving import main; from {module} import {name}",
                f"main({name}, *map(int, sys.argv[1:]))",
                *inherited,
                self._group.niceness,
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
        self._write(self._group.first_message)
        self._write(pickle.dumps((self.index, self.part, put_back)))

    def send(self, order: Any) -> None:
        """Send an order, which is carried out after those before it."""
        with self._sending:
            self.orders.append(order)
            self._write(pickle.dumps(order))

    def restart(self, put_back: Any) -> None:
        """Start a new process, which carries out `put_back`, if any, then the unanswered orders."""
        with self._sending:
            self.end(0.0)
            self._launch(put_back)
            for order in self.orders:
                self._write(pickle.dumps(order))

    def _write(self, message: bytes) -> None:
        # A broken pipe is noticed and handled when the answer is awaited.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(message)

    def receive(self) -> Any:
        """Wait for the answer to the oldest order and return it; raise EOFError if it died."""
        try:
            failure, answer = self.connection.recv()
        except OSError as error:  # killed in the middle of an answer
            raise EOFError from error
        self.orders.popleft()
        if failure is not None:
            raise failure
        return answer

    def how_it_ended(self) -> str:
        """Return how the process ended, such as "with code 1"."""
        try:
            return how_it_ended(self.process.wait(timeout=1.0))
        except subprocess.TimeoutExpired:
            return "without an exit status"

    def hang_up(self) -> None:
        """Ask the process to close its tasks and exit after the orders that it has."""
        with contextlib.suppress(OSError):
            self._write(pickle.dumps(None))

    def end(self, patience_seconds: float) -> None:
        """Wait for the process to exit, and kill it after `patience_seconds`."""
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
    """Return the descriptor of a file that has no name; it is in memory where the system can.

    The kernel frees it however the process ends, and the size of /dev/shm does not matter.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("recall")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, size)
    return descriptor
