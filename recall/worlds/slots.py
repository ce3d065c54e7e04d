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
from recall.worlds.simulator import Array

Stream = tuple[int, ...]


class Spaces(NamedTuple):
    """Spaces of one slot and names of further criteria of success, the same for all tasks."""

    observation: Box
    action: Box
    criteria: tuple[str, ...]


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


def _layout(slots: int, spaces: Spaces) -> dict[str, tuple[type, tuple[int, ...]]]:
    """Return dtype and shape of a board's arrays; wide dtypes come first, for alignment."""
    observation = (np.float64, (slots, *spaces.observation.shape))
    flag = (np.bool_, (slots,))
    return {
        "action": (np.float64, (slots, *spaces.action.shape)),
        "observation": observation,
        "final_observation": observation,
        "reward": (np.float64, (slots,)),
        "terminated": flag,
        "truncated": flag,
        "success": flag,
        "episode_success": flag,
        "diverged": flag,
        **dict.fromkeys(spaces.criteria, flag),
    }


def board_bytes(slots: int, spaces: Spaces) -> int:
    """Return the number of bytes that a board needs."""
    layout = _layout(slots, spaces).values()
    return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for dtype, shape in layout)


def lay_board(memory: Any, slots: int, spaces: Spaces) -> Board:
    """Return a board in `memory`, a writable buffer of at least `board_bytes`."""
    arrays, offset = {}, 0
    for name, (dtype, shape) in _layout(slots, spaces).items():
        arrays[name] = np.ndarray(shape, dtype, memory, offset)
        offset += arrays[name].nbytes
    criteria = {name: arrays.pop(name) for name in spaces.criteria}
    return Board(**arrays, criteria=criteria)


def joint_spaces(spaces: Sequence[Spaces]) -> Spaces:
    """Return spaces that contain those of every task; all must have equal shapes.

    Criteria of success are those that every task has.
    """
    boxes = [each.observation for each in spaces]
    shared = tuple(
        name for name in spaces[0].criteria if all(name in each.criteria for each in spaces)
    )
    if all(box == boxes[0] for box in boxes):
        return spaces[0]._replace(criteria=shared)
    dtype = np.result_type(*(box.dtype for box in boxes))
    low = np.min([box.low for box in boxes], axis=0)
    high = np.max([box.high for box in boxes], axis=0)
    box = Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)
    return Spaces(box, spaces[0].action, shared)


class _Group(NamedTuple):
    """Slots of one task."""

    slots: Array  # their indices among all slots
    episodes: Episodes


class Slots:
    """Slots with one task each; slots of the same task share a simulator."""

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
        simulators = [group.episodes.simulator for group in self._groups]
        check_same_shapes(simulators)
        self.spaces = joint_spaces(
            [Spaces(s.observation_space, s.action_space, s.criteria) for s in simulators]
        )
        self._board: Board | None = None

    def make_board(self) -> Board:
        """Create a board, attach it and return it."""
        slots = sum(len(group.slots) for group in self._groups)
        memory = bytearray(board_bytes(slots, self.spaces))
        self.attach(lay_board(memory, slots, self.spaces))
        assert self._board is not None
        return self._board

    def attach(self, board: Board) -> None:
        """Use `board`, which has one row per slot, from now on."""
        self._board = board

    def reset(
        self,
        streams: Sequence[Stream] | None,
        options: Mapping[str, Any] | None,
        chosen: Array | None = None,
        begun: Array | None = None,
    ) -> None:
        """Start the next episode in every slot, or the first one of new random `streams`.

        `chosen` [slots] restricts this to some slots. In those that have `begun` their next
        episode by themselves and have not been stepped since, that is the one that starts.
        """
        assert self._board is not None
        for slots, episodes in self._groups:
            for place, slot in enumerate(slots):
                if chosen is not None and not chosen[slot]:
                    continue
                if streams is not None:
                    episodes.set_stream(place, streams[slot])
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
        assert board is not None
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
        assert self._board is not None
        for array in (*self._board[3:-1], *self._board.criteria.values()):
            array[slot] = 0
        self._board.observation[slot] = observation

    def render(self) -> list[Array]:
        """Return an RGB image of every slot."""
        pictures: dict[int, Array] = {}
        for slots, episodes in self._groups:
            for place, slot in enumerate(slots):
                pictures[int(slot)] = episodes.simulator.render(place)
        return [pictures[slot] for slot in sorted(pictures)]

    def close(self) -> None:
        """Release the simulators."""
        for _, episodes in self._groups:
            episodes.simulator.close()
