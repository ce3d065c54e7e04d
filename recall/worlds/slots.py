"""Slots of several tasks that are stepped together, in this process or in worker processes.

They write their results to a board, which worker processes share with this one.
"""

import itertools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

from recall.errors import BadValueError
from recall.settings import WorldSettings
from recall.worlds.episodes import Episodes
from recall.worlds.registry import Task, horizon_steps, make_simulator, task_label
from recall.worlds.simulator import Array, Simulator
from recall.worlds.workers import Answers, WorkerDiedError, WorkerGroup, WorkerProcess

Stream = tuple[int, ...]


class Spaces(NamedTuple):
    """Spaces of one slot, further criteria of success and cameras that all tasks share."""

    observation: Box
    action: Box
    criteria: tuple[str, ...]
    cameras: tuple[str, ...]


Board = Array  # of `board_type`, [slots]
_RESULTS = ("terminated", "truncated", "success", "episode_success", "diverged")


def board_type(spaces: Spaces) -> np.dtype[Any]:
    """Return the type of a board's rows: inputs and results of a step of one slot.

    `observation` is the input to the next action, `final_observation` is valid only where an
    episode ended, and `success` and further criteria are of this step.
    """
    observation = (np.float64, spaces.observation.shape)
    return np.dtype(
        [
            ("action", np.float64, spaces.action.shape),
            ("observation", *observation),
            ("final_observation", *observation),
            ("reward", np.float64),
            *((name, np.bool_) for name in (*_RESULTS, *spaces.criteria)),
        ],
        align=True,
    )


def sizes_of(tasks: Sequence[Task], settings: WorldSettings) -> tuple[Spaces, int]:
    """Return the spaces of these tasks and the size of their largest state."""
    simulators = []
    try:
        for task in dict.fromkeys(tasks):
            simulators.append(make_simulator(task, 1, settings))
        largest = max(Episodes(each, 1, [(0,)]).state_size for each in simulators)
        return joint_spaces(simulators), largest
    finally:
        for simulator in simulators:
            simulator.close()


def joint_spaces(simulators: Sequence[Simulator]) -> Spaces:
    """Return spaces that contain those of every simulator; raise BadValueError if shapes differ.

    Criteria of success and cameras are those that every simulator has.
    """
    first = simulators[0]
    for other in simulators[1:]:
        for kind in ("observation", "action"):
            one, two = (getattr(each, f"{kind}_space").shape for each in (first, other))
            if one != two:
                raise BadValueError(
                    f"{kind}s of {first.task} have shape {one}, those of {other.task} {two}: "
                    "tasks that are used together must have the same shapes"
                )
    criteria = (n for n in first.criteria if all(n in each.criteria for each in simulators))
    cameras = (n for n in first.cameras if all(n in each.cameras for each in simulators))
    boxes = [each.observation_space for each in simulators]
    box = boxes[0]
    if any(each != box for each in boxes):
        dtype = np.result_type(*(each.dtype for each in boxes))
        low = np.min([each.low for each in boxes], axis=0)
        high = np.max([each.high for each in boxes], axis=0)
        box = Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)
    return Spaces(box, first.action_space, tuple(criteria), tuple(cameras))


class Slots:
    """Slots with one task each; slots of the same task share a simulator."""

    def __init__(self, tasks: Sequence[Task], settings: WorldSettings, board: Board | None = None):
        """Make the slots; `board`, if given, has a row for each, with the criteria of all tasks."""
        places: dict[Task, list[int]] = {}
        for slot, task in enumerate(tasks):
            places.setdefault(task, []).append(slot)
        self.groups: list[tuple[Array, Episodes]] = []  # slots of one task, and their episodes
        for task, slots in places.items():
            simulator = make_simulator(task, len(slots), settings)
            unseeded: list[Stream] = [()] * len(slots)  # `reset` sets the streams
            episodes = Episodes(simulator, horizon_steps(task, settings), unseeded)
            self.groups.append((np.asarray(slots), episodes))
        self.spaces = joint_spaces([episodes.simulator for _, episodes in self.groups])
        self.board = np.zeros(len(tasks), board_type(self.spaces)) if board is None else board
        self._criteria = [n for n in self.spaces.criteria if n in (self.board.dtype.names or ())]

    def reset(
        self,
        streams: Sequence[Stream | None],
        chosen: Array | None,
        begun: Array | None,
        options: Mapping[str, Any] | None,
    ) -> None:
        """Start the next episode in every slot, or the first one of new random `streams`.

        `chosen` [slots] restricts this to some slots. In those that have `begun` their next
        episode by themselves and have not been stepped since, that is the one that starts.
        """
        for _, episodes in self.groups:
            episodes.simulator.check_options(options)
        for slots, episodes in self.groups:
            for place, slot in enumerate(slots):
                if chosen is not None and not chosen[slot]:
                    continue
                if (stream := streams[slot]) is not None:
                    episodes.set_stream(place, stream)
                elif begun is not None and begun[slot]:
                    if options:
                        self.board["observation"][slot] = episodes.restart(place, options)
                    continue
                self.board["observation"][slot] = episodes.start(place, options)

    def step(self, held: Array | None, precision: str) -> None:
        """Step with the board's actions, cast to `precision`, and write results to the board.

        Slots that are `held` [slots] stay where they are, and tell a step without any reward.
        """
        board = self.board
        for slots, episodes in self.groups:
            waiting = [] if held is None else np.flatnonzero(held[slots]).tolist()
            states = [episodes.get_state(place) for place in waiting]
            actions = board["action"][slots].astype(precision, copy=False)
            result, outcomes = episodes.step(actions)
            board["observation"][slots] = episodes.observation
            for name in ("reward", "terminated", "truncated", "success"):
                board[name][slots] = getattr(result, name)
            for name in self._criteria:
                board[name][slots] = result.criteria[name]
            board["diverged"][slots] = False
            board["episode_success"][slots] = episodes.success
            for outcome in outcomes:
                slot = slots[outcome.slot]
                board["final_observation"][slot] = result.observation[outcome.slot]
                board["episode_success"][slot] = outcome.success
                board["diverged"][slot] = outcome.diverged
            for place, state in zip(waiting, states, strict=True):
                episodes.set_state(place, state)
                for name in ("reward", *_RESULTS, *self._criteria):
                    board[name][slots[place]] = 0
                board["observation"][slots[place]] = episodes.observation[place]

    def render(self, image: Mapping[str, Any]) -> list[Array]:
        """Return an RGB image of every slot; `image` has the arguments of `Simulator.render`."""
        pictures: dict[int, Array] = {}
        for slots, episodes in self.groups:
            for place, slot in enumerate(slots):
                pictures[int(slot)] = episodes.simulator.render(place, **image)
        return [pictures[slot] for slot in sorted(pictures)]

    def close(self) -> None:
        """Release the simulators."""
        for _, episodes in self.groups:
            episodes.simulator.close()


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
