"""Slots in worker processes, with a shared board and one short message per worker and step."""

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recall.errors import BadValueError
from recall.settings import WorldSettings
from recall.worlds.gym_registration import Registrations, registrations_for
from recall.worlds.registry import Task, task_label
from recall.worlds.simulator import Array
from recall.worlds.slots import Board, Slots, Spaces, Stream, board_of, board_shapes, sizes_of
from recall.worlds.workers import Answers, WorkerDiedError, WorkerGroup, WorkerProcess

Part = tuple[int, int]  # the first slot of a worker, and one past its last


class ProcessSlots:
    """Slots with the interface of `Slots`, stepped by `workers` processes of contiguous slots."""

    def __init__(self, tasks: Sequence[Task], settings: WorldSettings, workers: int):
        self.spaces, _ = sizes_of(tasks, settings)
        count = min(workers, len(tasks))
        parts = list(itertools.pairwise(len(tasks) * part // count for part in range(count + 1)))
        setup = (tuple(tasks), settings, registrations_for(tasks), self.spaces)
        self._group = _SlotWorkers(setup, parts, board_shapes(len(tasks), self.spaces))
        self.close = weakref.finalize(self, self._group.close)  # also at garbage collection
        try:
            self._ask(lambda part: ())
        except Exception:
            self.close()
            raise

    def make_board(self) -> Board:
        """Return the board, which is shared with the workers."""
        return board_of(self._group.shared, self.spaces)

    def reset(
        self,
        streams: Sequence[Stream | None],
        options: Mapping[str, Any] | None,
        chosen: Array | None = None,
        begun: Array | None = None,
    ) -> None:
        """Start an episode in every slot, or in those that are `chosen`."""
        self._ask(
            lambda part: (
                "reset",
                _own(streams, part),
                options,
                _own(chosen, part),
                _own(begun, part),
            )
        )

    def step(self, precision: str, held: Array | None = None) -> None:
        """Step the slots of every worker, except those that are `held`."""
        self._ask(lambda part: ("step", precision, _own(held, part)))

    def render(self, image: Mapping[str, Any]) -> list[Array]:
        """Return an RGB image of every slot; `image` has the arguments of `Simulator.render`."""
        return [picture for part in self._ask(lambda part: ("render", image)) for picture in part]

    def __reduce__(self) -> tuple[Any, ...]:
        raise BadValueError(
            "an environment whose slots are in worker processes cannot be copied or pickled: make "
            "it with workers=1"
        )

    def _ask(self, order_of: Callable[[Part], tuple[Any, ...]]) -> list[Any]:
        """Send every worker its order and return their answers."""
        processes = self._group.processes
        if not processes:
            raise WorkerDiedError("the worker processes have ended; make a new environment")
        if late := [process for process in processes if process.orders]:  # after a Ctrl-C
            Answers(self._group, late).wait()
        for process in processes:
            process.send(order_of(process.part))
        try:
            return Answers(self._group).wait()
        except WorkerDiedError as died:
            self.close()
            raise WorkerDiedError(
                f"{died}; its episodes are lost and the environment is closed"
            ) from None


def _own(values: Any, part: Part) -> Any:
    """Return the values of a worker's slots, or None if there are none at all."""
    return None if values is None else values[part[0] : part[1]]


class _SlotsInWorker:
    """The slots of one worker."""

    def __init__(
        self,
        setup: tuple[tuple[Task, ...], WorldSettings, Registrations, Spaces],
        part: Part,
        shared: Mapping[str, Array],
        pulse: Array,
    ):
        tasks, settings, known, spaces = setup
        known.register()
        own = tasks[slice(*part)]
        self.task = ", ".join(dict.fromkeys(map(task_label, own)))
        self._slots = Slots(own, settings)
        self._slots.attach(board_of(shared, spaces).part(*part))
        self.close = self._slots.close

    def handle(self, order: tuple[Any, ...]) -> Any:
        """Reset, step or render the slots; an empty order only asks whether they were made."""
        if order:
            name, *arguments = order
            return getattr(self._slots, name)(*arguments)
        return None


class _SlotWorkers(WorkerGroup):
    """Workers that step slots. They are not restarted, because their episodes would be lost."""

    service = _SlotsInWorker
    restarts_per_order = 0

    def describe(self, process: WorkerProcess) -> str:
        begin, end = process.part
        return f"stepping slots {begin} to {end - 1}"
