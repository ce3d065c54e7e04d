"""What runs in a worker process: one object that carries out the parent's orders.

The worker makes it with (setup, own part, shared arrays, own number). Its `handle(order)` returns
an answer, `task` names what is made or played, and `close()` releases everything.
"""

import contextlib
import fcntl
import mmap
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import numpy as np

from recall.errors import RecallError, described
from recall.worlds.simulator import Array, TaskFailedError

_RAISED = (Exception, SystemExit)  # by a task; a script of the user's may call sys.exit


def map_arrays(memory_file: int, offsets: Mapping[str, Any]) -> dict[str, Array]:
    """Return the shared arrays by name."""
    memory = mmap.mmap(memory_file, 0)
    return {
        name: np.frombuffer(memory, dtype, count=int(np.prod(shape)), offset=offset).reshape(shape)
        for name, (offset, shape, dtype) in offsets.items()
    }


def main(service: type, socket_number: int, lifeline: int, memory_file: int, niceness: int) -> None:
    """Serve orders until the parent says that there are no more, or is gone."""
    os.nice(niceness)
    _end_with(lifeline)
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        _serve(service, Connection(socket_number), memory_file)


def _end_with(lifeline: int) -> None:
    """Let the kernel kill this process when the other end of this silent socket closes.

    On Linux this works even while a task never returns to Python, or has blocked all signals.
    Elsewhere, an idle worker still ends when its other socket closes.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _serve(service: type, connection: Connection, memory_file: int) -> None:
    served: Any = None
    unmade: TaskFailedError | None = None  # why there is nothing to serve
    first, part = connection.recv_bytes(), connection.recv_bytes()
    try:
        registrations, setup, offsets = cloudpickle.loads(first)
        registrations.register()
        index, own, put_back = pickle.loads(part)
        served = service(setup, own, map_arrays(memory_file, offsets), index)
        if put_back is not None:
            served.handle(put_back)
    except _RAISED as error:
        where = "a worker process at its start" if served is None else f"task {served.task}"
        unmade = _failure(error, where)
    while (order := pickle.loads(connection.recv_bytes())) is not None:
        failure, answer = unmade, None
        if failure is None:
            try:
                answer = served.handle(order)
            except _RAISED as error:
                failure = _failure(error, f"task {served.task}")
        connection.send((failure, answer))
    if served is not None:
        try:
            served.close()
        except _RAISED as error:
            tell(str(_failure(error, f"task {served.task}")))


def _failure(error: BaseException, where: str) -> TaskFailedError:
    """Return what the parent raises about an exception, with the traceback in a note."""
    known = isinstance(error, RecallError)
    failure = TaskFailedError(str(error) if known else f"{where}: {described(error)}")
    failure.add_note("".join(traceback.format_exception(error)))
    return failure


def tell(text: str) -> None:
    """Print a warning."""
    print(f"warning: {text}", file=sys.stderr, flush=True)
