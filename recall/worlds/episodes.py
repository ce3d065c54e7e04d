"""Episodes in the slots of a simulator, with horizon, automatic reset and totals per episode."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from recall.worlds.simulator import Array, Rolled, Simulator, Step


class Outcome(NamedTuple):
    """Totals of a finished episode."""

    slot: int
    steps: int
    episode_return: float
    success: bool  # at any step
    last_success: bool  # at the last step
    diverged: bool
    criteria: Mapping[str, bool] = {}  # each criterion, at any step


# Counters kept in front of the simulator's own state vector, before a flag for each criterion.
_COUNTERS = ("episode", "steps", "return", "success")


class Episodes:
    """Consecutive episodes in every slot of `simulator`.

    `streams[slot]` names the slot's random stream, a tuple of integers such as (seed, slot).
    Episode e of a slot uses only the random generator of (*stream, e), so equal streams give equal
    episodes, however many slots, groups or processes there are.
    """

    def __init__(
        self, simulator: Simulator, horizon_steps: int, streams: Sequence[tuple[int, ...]]
    ):
        self.simulator = simulator
        self.horizon_steps = horizon_steps
        self.streams = list(streams)
        slots = simulator.slots
        size = simulator.observation_space.shape[0]
        self.observation = np.zeros((slots, size))
        self._episode = np.full(slots, -1, np.int64)
        self._expected = [-1] * slots  # the episode of the slot's last `simulator.expect`
        self._steps = np.zeros(slots, np.int64)
        self._return = np.zeros(slots)
        # Which slots have had a success in their current episode, and met each of the criteria.
        self.success = np.zeros(slots, bool)
        self._criteria = {name: np.zeros(slots, bool) for name in simulator.criteria}
        self._counters = len(_COUNTERS) + len(self._criteria)
        self.state_size = self._counters + size + simulator.state_size

    def start(self, slot: int, options: Mapping[str, Any] | None = None) -> Array:
        """Start the slot's next episode and return its first observation."""
        self._episode[slot] += 1
        rng = self._generator(slot, int(self._episode[slot]))
        self._steps[slot] = 0
        self._return[slot] = 0.0
        self.success[slot] = False
        for met in self._criteria.values():
            met[slot] = False
        self.observation[slot] = self.simulator.reset(slot, rng, options)
        return self.observation[slot].copy()

    def expect_next(self) -> None:
        """Let the simulator prepare the next episodes, if it has not yet."""
        for slot, following in enumerate((self._episode + 1).tolist()):
            if self._expected[slot] != following:
                self._expected[slot] = following
                self.simulator.expect(slot, self._generator(slot, following))

    def _generator(self, slot: int, episode: int) -> np.random.Generator:
        return np.random.default_rng([*self.streams[slot], episode])

    def set_stream(self, slot: int, stream: tuple[int, ...]) -> None:
        """Let the slot's next episode be the first one of `stream`."""
        self.streams[slot] = stream
        self._episode[slot] = -1
        self._expected[slot] = -1

    def restart(self, slot: int, options: Mapping[str, Any] | None) -> Array:
        """Start the slot's current episode again, with `options`."""
        self._episode[slot] -= 1
        return self.start(slot, options)

    def start_all(self) -> Array:
        """Start the next episode in every slot and return the first observations."""
        for slot in range(self.simulator.slots):
            self.start(slot)
        return self.observation.copy()

    def step(self, actions: Array) -> tuple[Step, list[Outcome]]:
        """Step every slot; return the results, and the outcomes of the episodes that ended.

        Horizon and divergence truncate. Where an episode ended, the next one has started:
        `observation` of this object is its first, that of the results the last one's.
        """
        return self.count(self.simulator.step(actions))

    def count(self, result: Step) -> tuple[Step, list[Outcome]]:
        """Count a step that the simulator has made, as `step` does."""
        self._steps += 1
        self._return += result.reward
        self.success |= result.success
        for name, met in self._criteria.items():
            met |= result.criteria[name]
        cut = self._steps >= self.horizon_steps
        cut |= result.truncated
        cut |= result.diverged
        self.observation[:] = result.observation
        outcomes = []
        for slot in (cut | result.terminated).nonzero()[0].tolist():
            outcomes.append(self._outcome(slot, result.success, result.diverged))
            self.start(slot)
        truncated = cut > result.terminated  # cut and not terminated
        return result._replace(truncated=truncated), outcomes

    def steps_left(self) -> int:
        """Return the number of steps until the first slot reaches the horizon."""
        return self.horizon_steps - int(self._steps.max())

    def count_rolled(self, rolled: Rolled) -> list[Outcome]:
        """Count the steps of a roll of at most `steps_left`; return the episodes that ended."""
        steps = len(rolled.reward)
        if not steps:
            return []
        self._steps += steps
        # One after the other, as `count` adds them.
        self._return[:] = np.add.accumulate(np.vstack([self._return, rolled.reward]))[-1]
        self.success |= rolled.success.any(axis=0)
        for name, met in self._criteria.items():
            met |= rolled.criteria[name].any(axis=0)
        self.observation[:] = rolled.observation[-1]
        outcomes = []
        none = np.zeros(len(self._steps), bool)
        for slot in (self._steps >= self.horizon_steps).nonzero()[0].tolist():
            outcomes.append(self._outcome(slot, rolled.success[-1], none))
            self.start(slot)
        return outcomes

    def _outcome(self, slot: int, success: Array, diverged: Array) -> Outcome:
        return Outcome(
            slot=slot,
            steps=int(self._steps[slot]),
            episode_return=float(self._return[slot]),
            success=bool(self.success[slot]),
            last_success=bool(success[slot]),
            diverged=bool(diverged[slot]),
            criteria={name: bool(met[slot]) for name, met in self._criteria.items()},
        )

    def get_state(self, slot: int) -> Array:
        """Return everything that determines the slot's future, [state_size] float64."""
        counters = (
            self._episode[slot],
            self._steps[slot],
            self._return[slot],
            self.success[slot],
            *(met[slot] for met in self._criteria.values()),
        )
        return np.concatenate(
            [
                np.asarray(counters, np.float64),
                self.observation[slot],
                self.simulator.get_state(slot),
            ]
        )

    def set_state(self, slot: int, state: Array) -> None:
        """Continue from a state that `get_state` returned."""
        counters, rest = state[: self._counters], state[self._counters :]
        size = self.observation.shape[1]
        self._episode[slot] = int(counters[0])
        self._expected[slot] = -1
        self._steps[slot] = int(counters[1])
        self._return[slot] = counters[2]
        self.success[slot] = bool(counters[3])
        for met, flag in zip(self._criteria.values(), counters[len(_COUNTERS) :], strict=True):
            met[slot] = bool(flag)
        self.observation[slot] = rest[:size]
        self.simulator.set_state(slot, rest[size:])
