"""Slots in worker processes, with a shared board and one short message per worker and step."""

import itertools
import mmap
import multiprocessing
import pickle
import signal
import tempfile
import traceback
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from recall.errors import BadValueError, RecallError
from recall.plugins.python_process import spawn
from recall.settings import WorldSettings
from recall.worlds.registrations import Registrations, registrations_for
from recall.worlds.registry import (
    Task,
    check_same_shapes,
    task_label,
)
from recall.worlds.simulator import Array
from recall.worlds.slots import Board, Slots, Spaces, Stream, board_bytes, joint_spaces, lay_board

_CLOSE_SECONDS = 5.0
_SHARED_MEMORY = Path("/dev/shm")  # on Linux; other systems map a temporary file


class WorkerError(RecallError, RuntimeError):
    """A worker process died or failed."""


class _Worker(NamedTuple):
    process: BaseProcess
    pipe: Connection
    begin: int  # first slot
    end: int  # one past the last slot


class ProcessSlots:
    """Slots with the interface of `Slots`, stepped by `workers` processes of contiguous slots."""

    def __init__(self, tasks: Sequence[Task], settings: WorldSettings, workers: int):
        self._check_sendable(tasks)
        self._workers: list[_Worker] = []
        # Also runs at garbage collection and at exit. Workers without a parent exit by themselves.
        self._stop = weakref.finalize(self, _stop, self._workers)
        count = min(workers, len(tasks))
        bounds = [len(tasks) * part // count for part in range(count + 1)]
        for begin, end in itertools.pairwise(bounds):
            here, there = multiprocessing.Pipe()
            own = tuple(tasks[begin:end])
            process = spawn(_work, there, own, settings, registrations_for(own))
            there.close()  # so that the pipe breaks when the worker dies
            self._workers.append(_Worker(process, here, begin, end))
        try:
            self.spaces = _agree(self._collect())
        except Exception:
            self.close()
            raise

    def make_board(self) -> Board:
        """Return a board in memory that is shared with the workers."""
        slots = self._workers[-1].end
        size = board_bytes(slots, self.spaces)
        folder = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
        # The file has a name only until every worker has mapped it, so nothing is left behind.
        with tempfile.NamedTemporaryFile(dir=folder, prefix="recall-") as file:
            file.truncate(size)
            memory = mmap.mmap(file.fileno(), size)
            for worker in self._workers:
                place = (worker.begin, worker.end)
                self._send(worker, ("attach", file.name, slots, self.spaces, place))
            self._collect()
        return lay_board(memory, slots, self.spaces)

    def reset(
        self,
        streams: Sequence[Stream] | None,
        options: Mapping[str, Any] | None,
        chosen: Array | None = None,
        begun: Array | None = None,
    ) -> None:
        """Start an episode in every slot, or in those that are `chosen`."""
        for worker in self._alive():
            own, *masks = (_part(each, worker) for each in (streams, chosen, begun))
            self._send(worker, ("reset", own, options, *masks))
        self._collect()

    def step(self, precision: str, held: Array | None = None) -> None:
        """Step the slots of every worker, except those that are `held`."""
        for worker in self._alive():
            self._send(worker, ("step", precision, _part(held, worker)))
        self._collect()

    def render(self) -> list[Array]:
        """Return an RGB image of every slot."""
        for worker in self._alive():
            self._send(worker, ("render",))
        return [picture for part in self._collect() for picture in part]

    def close(self) -> None:
        """End the workers."""
        self._stop()

    def __reduce__(self) -> tuple[Any, ...]:
        raise BadValueError(
            "an environment whose slots are in worker processes cannot be copied or pickled: make "
            "it with workers=1"
        )

    def _alive(self) -> list[_Worker]:
        if not self._workers:
            raise WorkerError("the worker processes have ended; make a new environment")
        return self._workers

    def _send(self, worker: _Worker, order: tuple[Any, ...]) -> None:
        try:
            worker.pipe.send(order)
        except OSError as error:
            raise self._death(worker) from error

    def _collect(self) -> list[Any]:
        """Return one reply per worker; all replies are read before the first failure is raised."""
        replies, failures = [], []
        for worker in self._workers:
            try:
                failure, reply = worker.pipe.recv()
            except (EOFError, OSError) as error:
                raise self._death(worker) from error
            replies.append(reply)
            failures += [failure] if failure else []
        if failures:
            raise failures[0]
        return replies

    def _death(self, worker: _Worker) -> WorkerError:
        worker.process.join(_CLOSE_SECONDS)
        code = worker.process.exitcode
        self.close()
        return WorkerError(
            f"the worker process of slots {worker.begin} to {worker.end - 1} died with exit code "
            f"{code}; its episodes are lost and the environment is closed. If it died at once: "
            'a script that uses workers must do its work under `if __name__ == "__main__":`'
        )

    @staticmethod
    def _check_sendable(tasks: Sequence[Task]) -> None:
        for task in tasks:
            try:
                pickle.dumps(task)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise BadValueError(
                    f"task {task_label(task)} cannot be sent to a worker process ({error}): use a "
                    "function defined at the top of a module, or workers=1"
                ) from error


def _part(values: Any, worker: _Worker) -> Any:
    """Return the values of a worker's slots, or None if there are none at all."""
    return None if values is None else values[worker.begin : worker.end]


class _Report(NamedTuple):
    """Report of a worker on its slots: the fields that the check of shapes reads."""

    task: str
    observation_space: Any
    action_space: Any
    criteria: tuple[str, ...]


def _agree(reports: list[_Report]) -> Spaces:
    check_same_shapes(reports)
    return joint_spaces([Spaces(*each[1:]) for each in reports])


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.pipe.close()  # ends the worker's loop
    for worker in workers:
        worker.process.join(_CLOSE_SECONDS)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
    workers.clear()


def _work(
    pipe: Connection, tasks: tuple[Task, ...], settings: WorldSettings, known: Registrations
) -> None:
    """Run a worker: build the slots, then carry out orders until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts
    try:
        known.register()
        slots = Slots(tasks, settings)
    except Exception as error:
        pipe.send((_portable(error), None))
        return
    pipe.send((None, _Report(task_label(tasks[0]), *slots.spaces)))
    while True:
        try:
            name, *arguments = pipe.recv()
        except (EOFError, OSError):
            break
        try:
            reply: tuple[RecallError | None, Any] = (None, _obey(slots, name, *arguments))
        except Exception as error:
            reply = (_portable(error), None)
        pipe.send(reply)
    slots.close()


def _obey(slots: Slots, name: str, *arguments: Any) -> Any:
    if name == "attach":
        path, count, spaces, (begin, end) = arguments
        with Path(path).open("r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        return slots.attach(lay_board(memory, count, spaces).part(begin, end))
    if name == "reset":
        return slots.reset(*arguments)
    return slots.step(*arguments) if name == "step" else slots.render()


def _portable(error: Exception) -> RecallError:
    """Return the error in a form that any process can unpickle.

    It includes the traceback unless it is a RecallError.
    """
    if isinstance(error, RecallError):
        return BadValueError(str(error))
    return WorkerError("".join(traceback.format_exception(error)).rstrip())
