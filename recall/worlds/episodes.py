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


# Columns of the counters: the number of a slot's current episode, its steps and return, whether it
# had a success, and then whether it met each of the criteria.
_EPISODE, _STEPS, _RETURN, _SUCCESS = range(4)


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
        self._expected = [-1] * slots  # the episode of the slot's last `simulator.expect`
        self._counters = np.zeros((slots, _SUCCESS + 1 + len(simulator.criteria)))
        self._counters[:, _EPISODE] = -1.0
        self.state_size = self._counters.shape[1] + size + simulator.state_size

    def start(self, slot: int, options: Mapping[str, Any] | None = None) -> Array:
        """Start the slot's next episode and return its first observation."""
        self._counters[slot, _STEPS:] = 0.0
        self._counters[slot, _EPISODE] += 1
        rng = self._generator(slot, int(self._counters[slot, _EPISODE]))
        self.observation[slot] = self.simulator.reset(slot, rng, options)
        return self.observation[slot].copy()

    def expect_next(self) -> None:
        """Let the simulator prepare the next episodes, if it has not yet."""
        for slot, episode in enumerate(self._counters[:, _EPISODE].tolist()):
            if self._expected[slot] != (following := int(episode) + 1):
                self._expected[slot] = following
                self.simulator.expect(slot, self._generator(slot, following))

    def _generator(self, slot: int, episode: int) -> np.random.Generator:
        return np.random.default_rng([*self.streams[slot], episode])

    def set_stream(self, slot: int, stream: tuple[int, ...]) -> None:
        """Let the slot's next episode be the first one of `stream`."""
        self.streams[slot] = stream
        self._counters[slot, _EPISODE] = -1
        self._expected[slot] = -1

    def restart(self, slot: int, options: Mapping[str, Any] | None) -> Array:
        """Start the slot's current episode again, with `options`."""
        self._counters[slot, _EPISODE] -= 1
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
        self._counters[:, _STEPS] += 1
        self._counters[:, _RETURN] += result.reward
        self._note(result.success, result.criteria)
        cut = self._counters[:, _STEPS] >= self.horizon_steps
        cut |= result.truncated
        cut |= result.diverged
        self.observation[:] = result.observation
        outcomes = []
        for slot in (cut | result.terminated).nonzero()[0].tolist():
            outcomes.append(self._outcome(slot, result.success, result.diverged))
            self.start(slot)
        truncated = cut > result.terminated  # cut and not terminated
        return result._replace(truncated=truncated), outcomes

    @property
    def success(self) -> Array:
        """Return which slots have had a success in their current episode, [slots] bool."""
        return self._counters[:, _SUCCESS] > 0

    def _note(self, success: Array, criteria: Mapping[str, Array]) -> None:
        """Note in which slots there was a success [slots], and each of the criteria was met."""
        flags = (success, *(criteria[name] for name in self.simulator.criteria))
        for met, flag in zip(self._counters.T[_SUCCESS:], flags, strict=True):
            np.maximum(met, flag, out=met)

    def steps_left(self) -> int:
        """Return the number of steps until the first slot reaches the horizon."""
        return self.horizon_steps - int(self._counters[:, _STEPS].max())

    def count_rolled(self, rolled: Rolled) -> list[Outcome]:
        """Count the steps of a roll of at most `steps_left`; return the episodes that ended."""
        steps = len(rolled.reward)
        if not steps:
            return []
        self._counters[:, _STEPS] += steps
        # One after the other, as `count` adds them.
        earned = np.vstack([self._counters[:, _RETURN], rolled.reward])
        self._counters[:, _RETURN] = np.add.accumulate(earned)[-1]
        criteria = {name: np.max(met, axis=0) for name, met in rolled.criteria.items()}
        self._note(np.max(rolled.success, axis=0), criteria)
        self.observation[:] = rolled.observation[-1]
        outcomes = []
        none = np.zeros(self.simulator.slots, bool)
        ended = self._counters[:, _STEPS] >= self.horizon_steps
        for slot in ended.nonzero()[0].tolist():
            outcomes.append(self._outcome(slot, rolled.success[-1], none))
            self.start(slot)
        return outcomes

    def _outcome(self, slot: int, success: Array, diverged: Array) -> Outcome:
        _, steps, total, succeeded, *met = self._counters[slot].tolist()
        return Outcome(
            slot=slot,
            steps=int(steps),
            episode_return=total,
            success=bool(succeeded),
            last_success=bool(success[slot]),
            diverged=bool(diverged[slot]),
            criteria=dict(zip(self.simulator.criteria, map(bool, met), strict=True)),
        )

    def get_state(self, slot: int) -> Array:
        """Return everything that determines the slot's future, [state_size] float64."""
        parts = (self._counters[slot], self.observation[slot], self.simulator.get_state(slot))
        return np.concatenate(parts)

    def set_state(self, slot: int, state: Array) -> None:
        """Continue from a state that `get_state` returned."""
        ends = np.cumsum([self._counters.shape[1], self.observation.shape[1]])
        self._counters[slot], self.observation[slot], own = np.split(state, ends)
        self._expected[slot] = -1
        self.simulator.set_state(slot, own)
