"""Slots of several tasks that are stepped together and write their results to a board of arrays.

Here the board is in the memory of one process. In `recall.worlds.processes` it is shared with
worker processes; the stepping is the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

from recall.settings import WorldSettings
from recall.worlds.episodes import Episodes
from recall.worlds.registry import Task, check_same_shapes, horizon_steps, make_simulator
from recall.worlds.simulator import Array, Simulator

Stream = tuple[int, ...]


class Spaces(NamedTuple):
    """Spaces of one slot, further criteria of success and cameras that all tasks share."""

    observation: Box
    action: Box
    criteria: tuple[str, ...]
    cameras: tuple[str, ...]


class Board(NamedTuple):
    """Inputs and results of a step of all slots."""

    action: Array  # [slots, act] float64
    observation: Array  # [slots, obs] float64: input to the next action
    final_observation: Array  # [slots, obs] float64: valid only where an episode ended
    reward: Array  # [slots] float64
    terminated: Array  # [slots] bool
    truncated: Array  # [slots] bool
    success: Array  # [slots] bool: this step
    episode_success: Array  # [slots] bool: any step of the episode up to this one
    diverged: Array  # [slots] bool: this step
    criteria: dict[str, Array]  # [slots] bool for each further criterion of success: this step

    def part(self, begin: int, end: int) -> "Board":
        """Return views of the slots from `begin` up to, but not including, `end`."""
        arrays = self._asdict()
        criteria = {name: met[begin:end] for name, met in arrays.pop("criteria").items()}
        views = {name: array[begin:end] for name, array in arrays.items()}
        return Board(**views, criteria=criteria)


def board_shapes(slots: int, spaces: Spaces) -> dict[str, tuple[tuple[int, ...], type]]:
    """Return shape and dtype of a board's arrays, by name."""
    observation = ((slots, *spaces.observation.shape), np.float64)
    flags = ("terminated", "truncated", "success", "episode_success", "diverged", *spaces.criteria)
    return {
        "action": ((slots, *spaces.action.shape), np.float64),
        "observation": observation,
        "final_observation": observation,
        "reward": ((slots,), np.float64),
        **dict.fromkeys(flags, ((slots,), np.bool_)),
    }


def board_of(arrays: Mapping[str, Array], spaces: Spaces) -> Board:
    """Return the board that consists of these arrays; there may be others among them."""
    own = {name: arrays[name] for name in Board._fields if name != "criteria"}
    return Board(**own, criteria={name: arrays[name] for name in spaces.criteria})


def sizes_of(tasks: Sequence[Task], settings: WorldSettings) -> tuple[Spaces, int]:
    """Return the spaces of these tasks and the size of their largest state.

    A simulator of every task is made and closed again. Raises BadValueError if shapes differ.
    """
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
    check_same_shapes(simulators)
    first = simulators[0]
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


class _Group(NamedTuple):
    """Slots of one task."""

    slots: Array  # their indices among all slots
    episodes: Episodes


class Slots:
    """Slots with one task each; slots of the same task share a simulator."""

    _board: Board  # from `attach` on

    def __init__(self, tasks: Sequence[Task], settings: WorldSettings):
        places: dict[Task, list[int]] = {}
        for slot, task in enumerate(tasks):
            places.setdefault(task, []).append(slot)
        self._groups = []
        for task, slots in places.items():
            simulator = make_simulator(task, len(slots), settings)
            unseeded: list[Stream] = [()] * len(slots)  # `reset` sets the streams
            episodes = Episodes(simulator, horizon_steps(task, settings), unseeded)
            self._groups.append(_Group(np.asarray(slots), episodes))
        self.spaces = joint_spaces([group.episodes.simulator for group in self._groups])

    def make_board(self) -> Board:
        """Create a board, attach it and return it."""
        slots = sum(len(group.slots) for group in self._groups)
        shapes = board_shapes(slots, self.spaces)
        board = board_of({name: np.zeros(*each) for name, each in shapes.items()}, self.spaces)
        self.attach(board)
        return board

    def attach(self, board: Board) -> None:
        """Use `board`, which has one row per slot, from now on."""
        self._board = board

    def reset(
        self,
        streams: Sequence[Stream | None],
        options: Mapping[str, Any] | None,
        chosen: Array | None = None,
        begun: Array | None = None,
    ) -> None:
        """Start the next episode in every slot, or the first one of new random `streams`.

        `chosen` [slots] restricts this to some slots. In those that have `begun` their next
        episode by themselves and have not been stepped since, that is the one that starts.
        """
        for _, episodes in self._groups:
            episodes.simulator.check_options(options)
        for slots, episodes in self._groups:
            for place, slot in enumerate(slots):
                if chosen is not None and not chosen[slot]:
                    continue
                if (stream := streams[slot]) is not None:
                    episodes.set_stream(place, stream)
                elif begun is not None and begun[slot]:
                    if options:
                        self._board.observation[slot] = episodes.restart(place, options)
                    continue
                self._board.observation[slot] = episodes.start(place, options)

    def step(self, precision: str, held: Array | None = None) -> None:
        """Step with the board's actions, cast to `precision`, and write results to the board.

        Slots that are `held` [slots] stay where they are, and tell a step without any reward.
        """
        board = self._board
        for slots, episodes in self._groups:
            waiting = [] if held is None else np.flatnonzero(held[slots]).tolist()
            states = [episodes.get_state(place) for place in waiting]
            played = episodes.step(board.action[slots].astype(precision, copy=False))
            board.observation[slots] = played.observation
            board.reward[slots] = played.reward
            board.terminated[slots] = played.terminated
            board.truncated[slots] = played.truncated
            board.success[slots] = played.success
            for name, met in board.criteria.items():
                met[slots] = played.criteria[name]
            board.diverged[slots] = False
            board.episode_success[slots] = episodes.success
            for outcome in played.outcomes:
                slot = slots[outcome.slot]
                board.final_observation[slot] = played.next_observation[outcome.slot]
                board.episode_success[slot] = outcome.success
                board.diverged[slot] = outcome.diverged
            for place, state in zip(waiting, states, strict=True):
                episodes.set_state(place, state)
                self._tell_held(slots[place], episodes.observation[place])

    def _tell_held(self, slot: int, observation: Array) -> None:
        """Write to the board that the slot was not stepped."""
        for array in (*self._board[3:-1], *self._board.criteria.values()):
            array[slot] = 0
        self._board.observation[slot] = observation

    def render(self, image: Mapping[str, Any]) -> list[Array]:
        """Return an RGB image of every slot; `image` has the arguments of `Simulator.render`."""
        pictures: dict[int, Array] = {}
        for slots, episodes in self._groups:
            for place, slot in enumerate(slots):
                pictures[int(slot)] = episodes.simulator.render(place, **image)
        return [pictures[slot] for slot in sorted(pictures)]

    def close(self) -> None:
        """Release the simulators."""
        for _, episodes in self._groups:
            episodes.simulator.close()
