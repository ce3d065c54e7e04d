"""Worker process, which owns some environments and rolls out whole chunks by itself.

recall.collect.worker_process starts it with two inherited file descriptors: a socket to the pool
and the shared memory. It exits when the socket closes, so it never outlives the pool, however the
pool died.
"""

import mmap
import os
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
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
from recall.errors import RecallError
from recall.worlds.episodes import Episodes, Outcome
from recall.worlds.registry import horizon_steps, make_simulator, task_label
from recall.worlds.simulator import Array

_STEPS_BETWEEN_LOOKS = 25  # steps of episodes between two checks that the pool still exists


def map_arrays(memory: Any, offsets: dict[str, tuple[int, tuple[int, ...], str]]) -> Any:
    """Return the shared arrays by name."""
    return {
        name: np.frombuffer(memory, dtype, count=int(np.prod(shape)), offset=offset).reshape(shape)
        for name, (offset, shape, dtype) in offsets.items()
    }


def by_task(setup: Setup, position: int, chosen: Sequence[int]) -> dict[Any, list[int]]:
    """Group the chosen environments by the task that their runs have at `position`."""
    groups: dict[Any, list[int]] = {}
    for environment in chosen:
        task = setup.run_of(environment).tasks[position]
        groups.setdefault(task, []).append(environment)
    return groups


class Worker:
    """Worker that carries out the pool's orders."""

    def __init__(self, setup: Setup, memory: Any, abandoned: Callable[[], bool]):
        """Map the shared arrays. `abandoned` returns True once nobody waits for an answer."""
        self.setup = setup
        setup.registrations.register()
        self._abandoned = abandoned
        self.shared = map_arrays(memory, setup.offsets)
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

    def _episodes(self, task: Any, streams: list[tuple[int, ...]]) -> Episodes:
        self.task = task_label(task)
        simulator = make_simulator(task, len(streams), self.setup.world)
        return Episodes(simulator, horizon_steps(task, self.setup.world), streams)

    def begin(self, order: Begin) -> None:
        """Build the environments of a stage."""
        for _, groups in self.played.values():
            for _, episodes in groups:
                episodes.simulator.close()
        self.played = {
            position: (place, self._groups(position, place, order))
            for place, position in enumerate(order.positions)
        }

    def _groups(self, position: int, place: int, order: Begin) -> list[tuple[list[int], Episodes]]:
        states = self.shared["state"][order.slot]
        found = []
        for task, chosen in by_task(self.setup, position, order.environments).items():
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

    def expect_next(self) -> None:
        """Let the simulators prepare the next episodes."""
        for _, groups in self.played.values():
            for _, episodes in groups:
                episodes.expect_next()

    def _roll_group(
        self, number: int, part: Part, slot: int, chosen: list[int], episodes: Episodes
    ) -> list[Outcome]:
        """Roll out part `number` of a chunk in environments that share a simulator."""
        self.task = episodes.simulator.task
        # [environment, chunk, act]
        draws = np.stack([self._draws(each, part, episodes.horizon_steps) for each in chosen])
        policies = None if part.uniform else [self.policies[slot][each][number] for each in chosen]
        rows = np.empty((len(chosen), self.setup.chunk_steps, self.columns.width), np.float32)
        tails = np.stack([self._tails(each, part, episodes.horizon_steps) for each in chosen])
        actor = Actor(policies, draws, tails, episodes.simulator.motion)
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
        self.task = task_label(task)
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
            if step % _STEPS_BETWEEN_LOOKS == 0 and self._abandoned():
                raise EOFError
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


def _failure(error: Exception, task: str) -> str:
    """Return the message about an exception; print where it was raised unless a user need not."""
    if isinstance(error, RecallError):
        return str(error)
    traceback.print_exc()
    return f"{type(error).__name__} in task {task}: {error}"


def main(socket: int, memory: int, niceness: int) -> None:
    """Serve orders until the pool closes the socket."""
    os.nice(niceness)
    connection = Connection(socket)
    try:
        setup = cloudpickle.loads(connection.recv_bytes())
        # The pool sends nothing while episodes are played, so readable data mean it has hung up.
        worker = Worker(setup, mmap.mmap(memory, 0), lambda: connection.poll(0))
        while True:
            order = cloudpickle.loads(connection.recv_bytes())
            try:
                answer: Any = worker.handle(order)
            except (EOFError, KeyboardInterrupt):
                raise
            except Exception as error:
                connection.send(("error", _failure(error, worker.task)))
                return
            connection.send(("done", answer))
            worker.expect_next()  # nobody waits for this
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return
