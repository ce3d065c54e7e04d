"""Workers that play whole episodes beside training, from a snapshot of the policies."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from recall.collect import noise
from recall.collect.messages import Episode, Play, RunTasks, Setup
from recall.collect.policy import NumpyPolicy, PolicyShape
from recall.collect.pool import FleetWorkers
from recall.collect.rolling import finite
from recall.collect.worker import Worker
from recall.settings import WorldSettings
from recall.worlds.episodes import Episodes, Outcome
from recall.worlds.registry import horizon_steps, make_simulator
from recall.worlds.simulator import Array, Simulator
from recall.worlds.workers import Answers, never


class Player(Worker):
    """Worker that plays episodes. It keeps one simulator of every task."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self._arenas: dict[Any, Simulator] = {}

    def handle(self, order: Play) -> dict[int, Outcome]:
        """Play whole episodes, each with its own random stream; return how each of them ended."""
        groups: dict[Any, list[int]] = {}
        for number, episode in order.episodes.items():
            task = self.setup.runs[episode.run].tasks[episode.position]
            groups.setdefault(task, []).append(number)
        results = {}
        for task, numbers in groups.items():
            for outcome in self._play(task, [order.episodes[number] for number in numbers]):
                results[numbers[outcome.slot]] = outcome
        return results

    def _play(self, task: Any, chosen: list[Episode]) -> list[Outcome]:
        """Play one episode in every slot of a simulator of the task."""
        self.turn_to(chosen[0].run, chosen[0].position)
        horizon = horizon_steps(task, self.setup.world)
        starts = [noise.start_of_episode(episode.stream) for episode in chosen]
        arena = self._arenas.get(task)
        if arena is None or arena.slots != len(chosen):
            if arena is not None:
                arena.close()
            arena = self._arenas[task] = make_simulator(task, len(chosen), self.setup.world)
        episodes = Episodes(arena, horizon, starts)
        observation = episodes.start_all()
        act = self.setup.policy.action_size
        drawn = [noise.draw_episode(episode.stream, (horizon, act)) for episode in chosen]
        policies = {
            key: NumpyPolicy(self.setup.policy, self.shared["policy"][key])
            for key in {(episode.position, episode.run) for episode in chosen}
        }
        acting = [policies[episode.position, episode.run] for episode in chosen]
        actions = np.empty((len(chosen), act), np.float32)
        ended: dict[int, Outcome] = {}
        for step in range(horizon):
            self.doing[1] += 1
            for slot, episode in enumerate(chosen):
                numbers = None if episode.deterministic else drawn[slot][step]
                actions[slot] = acting[slot].act(observation[slot], numbers)
            _, outcomes = episodes.step(finite(actions))
            observation = episodes.observation
            # A slot whose episode has ended plays the next one, which does not count.
            ended = {outcome.slot: outcome for outcome in outcomes} | ended
            if len(ended) == len(chosen):
                break
        return list(ended.values())

    def close(self) -> None:
        """Close all simulators."""
        for arena in self._arenas.values():
            self.task = arena.task
            arena.close()


class EvaluationPool(FleetWorkers):
    """Plays one list of episodes at a time in the background, from a snapshot of the policies."""

    service = Player
    niceness = 10  # nobody waits for these: they get about a tenth of the cores that are busy

    def __init__(
        self,
        runs: Sequence[RunTasks],
        world: WorldSettings,
        policy: PolicyShape,
        workers: int,
    ):
        """Start the workers, with memory for a policy of every run for each of its tasks."""
        shapes = {"policy": ((len(runs[0].tasks), len(runs), policy.size), np.float32)}
        super().__init__(Setup(tuple(runs), world, policy), [()] * max(workers, 1), shapes)
        self._pending: Answers | None = None

    @property
    def snapshot(self) -> Array:
        """Policies [position, run, size] from which episodes are played."""
        return self.shared["policy"]

    def start(self, episodes: Sequence[Episode]) -> None:
        """Start to play these episodes from the snapshot, which must not change meanwhile."""
        busy = []
        for process, batch in zip(self.processes, deal(episodes, len(self.processes)), strict=True):
            if batch:
                process.send(Play({number: episodes[number] for number in batch}))
                busy.append(process)
        self._pending = Answers(self, busy)

    def ready(self) -> bool:
        """Return True if all episodes have been played. Does not wait."""
        return self._pending is not None and self._pending.arrive()

    def results(self, should_stop: Callable[[], bool] = never) -> list[Outcome]:
        """Wait for the episodes and return how they ended; raise Abandoned if `should_stop`."""
        assert self._pending is not None, "no episodes were started"
        answers = self._pending.wait(should_stop)
        self._pending = None
        ended = {number: outcome for answer in answers for number, outcome in answer.items()}
        return [ended[number] for number in range(len(ended))]


def deal(episodes: Sequence[Episode], workers: int) -> list[list[int]]:
    """Return the indices of the episodes that each worker plays.

    Those of one run on one task stay together, in one batch, unless there are more workers.
    """
    batches: dict[tuple[int, int], list[int]] = {}
    for index, episode in enumerate(episodes):
        batches.setdefault((episode.position, episode.run), []).append(index)
    parts = -(-workers // max(len(batches), 1))
    pieces = [
        piece.tolist()
        for batch in batches.values()
        for piece in np.array_split(np.array(batch), min(parts, len(batch)))
    ]
    shares = np.array_split(np.arange(len(pieces)), workers)
    return [[index for place in share for index in pieces[place]] for share in shares]
