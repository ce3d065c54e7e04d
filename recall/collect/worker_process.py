"""Handle of the pool on one worker process: starting it, sending orders and ending it."""

import contextlib
import os
import pickle
import socket
import subprocess
import threading
from collections import deque
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from recall.collect.exit_status import how_it_ended
from recall.collect.messages import Begin, Chunk, Play, Setup
from recall.errors import RecallError
from recall.plugins.python_process import python_command

# A worker computes with one thread, because there are enough workers for all cores.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_DOING = {Begin: "starting tasks", Chunk: "collecting transitions", Play: "playing episodes"}


class WorkerDiedError(RecallError):
    """A worker process ended without an answer."""


class TaskFailedError(RecallError):
    """An environment raised an exception. The order is not retried, since it would fail again."""


class WorkerProcess:
    """Worker process with its socket, its environments and the orders that it has not answered."""

    def __init__(self, environments: tuple[int, ...], niceness: int = 0):
        self.environments = environments
        self._niceness = niceness
        self.orders: deque[Any] = deque()
        self._answers_to_skip = 0
        self._sending = threading.Lock()  # one thread may send while another restarts the process

    def launch(self, setup: Setup, memory: int) -> None:
        """Start the process; `memory` is the file descriptor of the shared memory."""
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            # A task's function may come from the user's script, or from a module beside it.
            python_command(
                "from recall.collect.worker import main",
                "main(*map(int, sys.argv[1:]))",
                *(theirs.fileno(), memory, self._niceness),
            ),
            pass_fds=(theirs.fileno(), memory),
            env=os.environ | _ONE_THREAD,
            stdin=subprocess.DEVNULL,
            # Ctrl-C then reaches only the parent, which tells the workers. Not a new session: Linux
            # shares the cores out between sessions first, and niceness counts within one only.
            process_group=0,
        )
        theirs.close()
        self.connection = Connection(ours.detach())
        self._answers_to_skip = 0
        self._write(cloudpickle.dumps(setup))

    def send(self, order: Any) -> None:
        """Send an order, which is carried out after those before it."""
        with self._sending:
            self.orders.append(order)
            self._write(pickle.dumps(order))

    def restart(self, setup: Setup, memory: int, first: Any) -> None:
        """Start a new process and send it the unanswered orders again, after `first` if not None.

        If it dies during this, that is noticed when its answer is awaited.
        """
        with self._sending:
            self.end(0.0)
            self.launch(setup, memory)
            if first is not None:
                self._answers_to_skip = 1
                self._write(pickle.dumps(first))
            for order in self.orders:
                self._write(pickle.dumps(order))

    def _write(self, message: bytes) -> None:
        # A broken pipe is noticed and handled when the answer is awaited.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(message)

    def receive(self) -> Any:
        """Wait for the answer to the oldest order and return it."""
        try:
            for _ in range(self._answers_to_skip):
                self._answer()
                self._answers_to_skip -= 1
            answer = self._answer()
        except (EOFError, OSError):  # killed before or in the middle of an answer
            raise WorkerDiedError(self._death()) from None
        self.orders.popleft()
        return answer

    def _death(self) -> str:
        """Return the message about this worker's end, which users see after several attempts."""
        status = self._exit_status()
        doing = _DOING[type(self.orders[0])]
        how = "without an exit status" if status is None else how_it_ended(status)
        told = f"a worker process ended again and again while {doing}, the last time {how}. "
        if status is not None and status >= 0:  # it ended by itself, for which memory is no reason
            return told + "What it printed before, if anything, says why"
        return told + (
            "If memory ran out, use fewer worker processes, which does not change "
            "results: `--workers` of `recall train` and `recall evaluate`, or `workers` in the "
            "fleet's run.json before `recall resume FOLDER`"
        )

    def _answer(self) -> Any:
        kind, answer = self.connection.recv()
        if kind == "error":
            raise TaskFailedError(answer)
        return answer

    def _exit_status(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout=1.0)
        return None

    def hang_up(self) -> None:
        """Close the socket; the worker exits once it notices."""
        self.connection.close()

    def end(self, patience_seconds: float) -> None:
        """Wait for the process to exit, and kill it after `patience_seconds`."""
        self.connection.close()
        try:
            self.process.wait(timeout=patience_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
