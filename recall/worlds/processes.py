"""Slots in worker processes, with a shared board and one short message per worker and step."""

import itertools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from recall.errors import BadValueError
from recall.settings import WorldSettings
from recall.worlds.registry import Task, task_label
from recall.worlds.simulator import Array
from recall.worlds.slots import Board, Slots, Stream, board_type, sizes_of
from recall.worlds.workers import Answers, WorkerDiedError, WorkerGroup, WorkerProcess


class ProcessSlots:
    """Slots with the interface of `Slots`, stepped by `workers` processes of contiguous slots."""

    def __init__(self, tasks: Sequence[Task], settings: WorldSettings, workers: int):
        self.spaces, _ = sizes_of(tasks, settings)
        count = min(workers, len(tasks))
        parts = list(itertools.pairwise(len(tasks) * part // count for part in range(count + 1)))
        shapes = {"board": ((len(tasks),), board_type(self.spaces))}
        self._group = _SlotWorkers((tuple(tasks), settings), parts, shapes, tasks)
        self.board: Board = self._group.shared["board"]
        self.close = weakref.finalize(self, self._group.close)  # also at garbage collection
        try:
            self._ask("check")
        except Exception:
            self.close()
            raise

    def reset(
        self,
        streams: Sequence[Stream | None],
        chosen: Array | None,
        begun: Array | None,
        options: Mapping[str, Any] | None,
    ) -> None:
        """Start an episode in every slot, or in those that are `chosen`."""
        self._ask("reset", (streams, chosen, begun), options)

    def step(self, held: Array | None, precision: str) -> None:
        """Step the slots of every worker, except those that are `held`."""
        self._ask("step", (held,), precision)

    def render(self, image: Mapping[str, Any]) -> list[Array]:
        """Return an RGB image of every slot; `image` has the arguments of `Simulator.render`."""
        return list(itertools.chain(*self._ask("render", (), image)))

    def __reduce__(self) -> tuple[Any, ...]:
        raise BadValueError(
            "an environment whose slots are in worker processes cannot be copied or pickled: make "
            "it with workers=1"
        )

    def _ask(self, method: str, per_slot: Sequence[Any] = (), *others: Any) -> list[Any]:
        """Call a method of every worker's slots, with its part of each argument `per_slot`."""
        processes = self._group.processes
        if not processes:
            raise WorkerDiedError("the worker processes have ended; make a new environment")
        if late := [process for process in processes if process.orders]:  # after a Ctrl-C
            Answers(self._group, late).wait()
        for process in processes:
            own = (None if each is None else each[slice(*process.part)] for each in per_slot)
            process.send((method, *own, *others))
        try:
            return Answers(self._group).wait()
        except WorkerDiedError as died:
            self.close()
            raise WorkerDiedError(
                f"{died}; its episodes are lost and the environment is closed"
            ) from None


class _SlotsInWorker(Slots):
    """The slots of one worker."""

    def __init__(
        self,
        setup: tuple[tuple[Task, ...], WorldSettings],
        part: tuple[int, int],  # its first slot, and one past its last
        shared: Mapping[str, Array],
        index: int,
    ):
        tasks, settings = setup
        own = tasks[slice(*part)]
        self.task = ", ".join(dict.fromkeys(map(task_label, own)))
        super().__init__(own, settings, shared["board"][slice(*part)])

    def handle(self, order: tuple[Any, ...]) -> Any:
        """Call the method that an order names."""
        method, *arguments = order
        return getattr(self, method)(*arguments)

    def check(self) -> None:
        """Answer that the slots were made."""


class _SlotWorkers(WorkerGroup):
    """Workers that step slots. They are not restarted, because their episodes would be lost."""

    service = _SlotsInWorker
    restarts_per_order = 0

    def describe(self, process: WorkerProcess) -> str:
        begin, end = process.part
        return f"stepping slots {begin} to {end - 1}"
