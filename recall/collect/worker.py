"""Worker that owns some environments, rolls out whole chunks and plays episodes by itself.

It runs in a process of its own (recall.worlds.workers).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from recall.collect import noise
from recall.collect.messages import (
    TRAINING,
    Begin,
    Chunk,
    Episode,
    EpisodeResult,
    Part,
    Play,
    Setup,
)
from recall.collect.policy import NumpyPolicy
from recall.collect.rolling import Actor, finite, roll
from recall.collect.transition import Columns
from recall.worlds.episodes import Episodes, Outcome
from recall.worlds.registry import horizon_steps, make_simulator, task_label
from recall.worlds.simulator import Array

_DOING = {Begin: "making", Chunk: "collecting transitions of", Play: "playing episodes of"}


def doing(setup: Setup, order: Any, place: int) -> str:
    """Return what a worker does whose pulse says that it is at `place`, 0 at its start."""
    if not place:
        return "starting"
    run, position = divmod(place - 1, len(setup.runs[0].tasks))
    return f"{_DOING[type(order)]} task {task_label(setup.runs[run].tasks[position])} of run {run}"


def by_task(setup: Setup, position: int, chosen: Sequence[int]) -> dict[Any, list[int]]:
    """Group the chosen environments by the task that their runs have at `position`."""
    groups: dict[Any, list[int]] = {}
    for environment in chosen:
        task = setup.run_of(environment).tasks[position]
        groups.setdefault(task, []).append(environment)
    return groups


class Worker:
    """Worker that carries out the orders of a pool."""

    def __init__(
        self, setup: Setup, environments: Sequence[int], shared: Mapping[str, Array], pulse: Array
    ):
        """Take the `environments` that this worker owns, and the shared arrays by name."""
        self.setup, self.environments, self.shared = setup, environments, shared
        self._pulse = pulse  # steps so far; what is played
        setup.registrations.register()
        self.policies = [
            [[NumpyPolicy(setup.policy, row) for row in rows] for rows in slot]
            for slot in self.shared.get("policy", ())  # workers that only play episodes have none
        ]  # [slot][environment][part]
        self.columns = Columns(setup.policy.observation_size, setup.policy.action_size)
        # By position: its index in the shared states, and environments that share a simulator.
        self.played: dict[int, tuple[int, list[tuple[list[int], Episodes]]]] = {}
        self._arenas: dict[Any, Any] = {}  # simulators for evaluation, by task
        self.task = "unknown"  # the one that is being made or played, for error messages

    def handle(self, order: Any) -> Any:
        """Carry out one order and return the answer for the pool."""
        actions: dict[type, Callable[[Any], Any]] = {
            Begin: self.begin,
            Chunk: self.roll,
            Play: self.play,
        }
        return actions[type(order)](order)

    def _turn_to(self, run: int, position: int) -> None:
        """Note what is made or played now, for messages."""
        self.task = task_label(self.setup.runs[run].tasks[position])
        self._pulse[1] = 1 + run * len(self.setup.runs[0].tasks) + position

    def _episodes(self, task: Any, streams: list[tuple[int, ...]]) -> Episodes:
        simulator = make_simulator(task, len(streams), self.setup.world)
        return Episodes(simulator, horizon_steps(task, self.setup.world), streams)

    def begin(self, order: Begin) -> None:
        """Build the environments of a stage."""
        self._close_played()
        self.played = {
            position: (place, self._groups(position, place, order))
            for place, position in enumerate(order.positions)
        }

    def _close_played(self) -> None:
        played, self.played = self.played, {}
        for _, groups in played.values():
            for _, episodes in groups:
                self.task = episodes.simulator.task
                episodes.simulator.close()

    def close(self) -> None:
        """Close all simulators."""
        self._close_played()
        for arena in self._arenas.values():
            self.task = arena.task
            arena.close()

    def _groups(self, position: int, place: int, order: Begin) -> list[tuple[list[int], Episodes]]:
        states = self.shared["state"][order.slot]
        found = []
        for task, chosen in by_task(self.setup, position, self.environments).items():
            self._turn_to(chosen[0] // self.setup.environments, position)
            streams = [self.setup.stream(each, TRAINING, position) for each in chosen]
            episodes = self._episodes(task, streams)
            for slot, environment in enumerate(chosen):
                state = states[environment, place][: episodes.state_size]
                if position in order.fresh:
                    episodes.start(slot)
                    state[:] = episodes.get_state(slot)
                else:
                    episodes.set_state(slot, state)
            found.append((chosen, episodes))
        return found

    def roll(self, order: Chunk) -> list[tuple[int, int, Outcome]]:
        """Roll out one chunk in every environment.

        Returns the episodes that ended, as (environment, position, outcome).
        """
        ended: list[tuple[int, int, Outcome]] = []
        for number, part in enumerate(order.parts):
            _, groups = self.played[part.position]
            for chosen, episodes in groups:
                outcomes = self._roll_group(number, part, order.slot, chosen, episodes)
                ended += [(chosen[outcome.slot], part.position, outcome) for outcome in outcomes]
        self._publish((order.slot + 1) % len(self.shared["state"]))
        return ended

    def _publish(self, slot: int) -> None:
        """Leave the states from which the next chunk starts, also those of tasks not rolled out."""
        states = self.shared["state"][slot]
        for place, groups in self.played.values():
            for chosen, episodes in groups:
                for index, environment in enumerate(chosen):
                    states[environment, place][: episodes.state_size] = episodes.get_state(index)

    def rest(self) -> None:
        """Let the simulators prepare the next episodes."""
        for _, groups in self.played.values():
            for _, episodes in groups:
                episodes.expect_next()

    def _roll_group(
        self, number: int, part: Part, slot: int, chosen: list[int], episodes: Episodes
    ) -> list[Outcome]:
        """Roll out part `number` of a chunk in environments that share a simulator."""
        self._turn_to(chosen[0] // self.setup.environments, part.position)
        # [environment, chunk, act]
        draws = np.stack([self._draws(each, part, episodes.horizon_steps) for each in chosen])
        policies = None if part.uniform else [self.policies[slot][each][number] for each in chosen]
        rows = np.empty((len(chosen), self.setup.chunk_steps, self.columns.width), np.float32)
        tails = np.stack([self._tails(each, part, episodes.horizon_steps) for each in chosen])
        actor = Actor(policies, draws, tails, episodes.simulator.motion, self._pulse)
        outcomes = roll(episodes, actor, rows, self.columns)
        for index, environment in enumerate(chosen):
            self.shared["rows"][slot, environment, number] = rows[index]
        return outcomes

    def _draws(self, environment: int, part: Part, horizon_steps: int) -> Array:
        """Return the random numbers [chunk, act] of the actions in an environment."""
        stream = self.setup.stream(environment, part.position)
        shape = (self.setup.chunk_steps, self.setup.policy.action_size)
        draw = noise.draw_uniform if part.uniform else noise.draw
        return draw(stream, part.first_step, shape, self.setup.noise_colour, horizon_steps)

    def _tails(self, environment: int, part: Part, horizon_steps: int) -> Array:
        """Return at which steps [chunk] of an environment random motion replaces the policy's."""
        stream = self.setup.stream(environment, part.position)
        steps, share = self.setup.chunk_steps, self.setup.random_tails
        return noise.draw_tails(stream, part.first_step, steps, share, horizon_steps)

    def play(self, order: Play) -> list[EpisodeResult]:
        """Play whole episodes outside of training, each with its own random stream."""
        results: list[EpisodeResult | None] = [None] * len(order.episodes)
        groups: dict[Any, list[int]] = {}
        for index, episode in enumerate(order.episodes):
            task = self.setup.runs[episode.run].tasks[episode.position]
            groups.setdefault(task, []).append(index)
        for task, indices in groups.items():
            chosen = [order.episodes[index] for index in indices]
            for index, result in zip(indices, self._play_group(task, chosen), strict=True):
                results[index] = result
        return results  # type: ignore[return-value]

    def _play_group(self, task: Any, chosen: list[Episode]) -> list[EpisodeResult]:
        self._turn_to(chosen[0].run, chosen[0].position)
        arena = self._arenas.get(task)
        if arena is None or arena.slots != len(chosen):
            if arena is not None:
                arena.close()
            arena = self._arenas[task] = make_simulator(task, len(chosen), self.setup.world)
        horizon = horizon_steps(task, self.setup.world)
        starts = [noise.start_of_episode(episode.stream) for episode in chosen]
        episodes = Episodes(arena, horizon, starts)
        observation = episodes.start_all()
        act = self.setup.policy.action_size
        drawn = [noise.draw_episode(episode.stream, (horizon, act)) for episode in chosen]
        vectors = self.shared["eval_policy"]  # [place, run, size]
        policies = {
            key: NumpyPolicy(self.setup.policy, vectors[key])
            for key in {(episode.place, episode.run) for episode in chosen}
        }
        acting = [policies[episode.place, episode.run] for episode in chosen]
        actions = np.empty((len(chosen), act), np.float32)
        results: dict[int, EpisodeResult] = {}
        for step in range(horizon):
            self._pulse[0] += 1
            for i, episode in enumerate(chosen):
                numbers = None if episode.deterministic else drawn[i][step]
                actions[i] = acting[i].act(observation[i], numbers)
            played = episodes.advance(finite(actions))
            observation = played.observation
            for outcome in played.outcomes:
                results.setdefault(
                    outcome.slot,
                    EpisodeResult(
                        outcome.episode_return,
                        outcome.success,
                        outcome.last_success,
                        outcome.criteria,
                    ),
                )
            if len(results) == len(chosen):
                break
        return [results[slot] for slot in range(len(chosen))]
