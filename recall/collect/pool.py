"""Pools of workers: one that collects chunks, and one that plays episodes beside training.

Several chunks may be ordered at a time, so that a worker that has finished one begins the next
one at once, although others still collect the first. Policies, rows and states have as many slots
in the shared memory, which the chunks use in turns: nothing that is still needed is written to. A
chunk's state is the one at its start; its worker leaves the state at its end in the next slot.

After a worker died, its successor is put back to the state at the start of its oldest unanswered
chunk and collects the same transitions. The parent reads the shared rows only after every worker
has answered.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from recall.collect.cores import cores
from recall.collect.messages import (
    Begin,
    Chunk,
    Episode,
    EpisodeResult,
    Part,
    Play,
    RunTasks,
    Setup,
)
from recall.collect.policy import PolicyShape
from recall.collect.transition import Columns
from recall.collect.worker import Worker, doing
from recall.settings import WorldSettings
from recall.worlds.episodes import Outcome
from recall.worlds.gym_registration import registrations_for
from recall.worlds.simulator import Array
from recall.worlds.workers import Answers, WorkerGroup, WorkerProcess, never

_STARTERS = 4  # threads that copy policies and start workers
_LEAST_SLOTS = 2  # a chunk's state at its start and at its end need a slot each
_STOP_SECONDS = 10.0  # time that a chunk has to be finished after a request to stop
# Collecting workers and the learner come first; an evaluation gets about a tenth of their cores.
_EVALUATION_NICENESS = 10


class ChunkRequest(NamedTuple):
    """Request to collect for one task in a chunk."""

    position: int
    first_step: int  # number of earlier steps of each run on this task
    policies: Any  # [run, size], may still be computing; None: uniformly random actions


class _FleetWorkers(WorkerGroup):
    """Workers that know the runs of a fleet, and play episodes with their policies."""

    if_killed = (
        "Use fewer worker processes, which does not change results: `--workers` of `recall train` "
        "and `recall evaluate`, or `workers` in the fleet's run.json before `recall resume FOLDER`"
    )

    def __init__(
        self,
        setup: Setup,
        parts: Sequence[tuple[int, ...]],
        shapes: Mapping[str, tuple[tuple[int, ...], Any]],
        **keywords: Any,
    ):
        def describe(process: WorkerProcess) -> str:
            return doing(setup, process.orders[0], self.pulse(process)[1])

        super().__init__(Worker, setup, parts, shapes, describe, **keywords)

    def start_episodes(self, episodes: Sequence[Episode], batches: Sequence[Any]) -> Answers:
        """Let worker i play the episodes whose indices are in batch i."""
        busy = []
        for process, batch in zip(self.processes, batches, strict=True):
            if len(batch):
                process.send(Play(tuple(episodes[index] for index in batch)))
                busy.append(process)
        return Answers(self, busy)


class Pool(_FleetWorkers):
    """Workers of a fleet. They collect chunks, or play episodes while no chunk is ordered."""

    def __init__(
        self,
        runs: Sequence[RunTasks],
        world: WorldSettings,
        policy: PolicyShape,
        chunk_steps: int,
        state_size: int,
        workers: int,
        most_at_once: int = 1,
        max_live_tasks: int = 1,
        noise_colour: float = 0.0,
        random_tails: float = 0.0,
        most_ordered: int = _LEAST_SLOTS,
        environments: int = 1,
        should_stop: Callable[[], bool] = never,
    ):
        """Allocate the shared memory and start the workers.

        A chunk contains at most `most_at_once` tasks, and environments of at most `max_live_tasks`
        tasks exist at a time. At most `most_ordered` chunks are ordered at a time. Every run has so
        many `environments` of a task, which share the steps of its chunks equally. A chunk that is
        not finished some seconds after `should_stop` returned True is abandoned.
        """
        self.columns = Columns(policy.observation_size, policy.action_size)
        assert chunk_steps % environments == 0, "the environments of a run share its chunks equally"
        self._environments, count = environments, len(runs) * environments
        steps = chunk_steps // environments
        slots = self._slots = max(_LEAST_SLOTS, most_ordered)
        shapes = {
            "policy": ((slots, count, most_at_once, policy.size), np.float32),
            "eval_policy": ((1, len(runs), policy.size), np.float32),
            "rows": ((slots, count, most_at_once, steps, self.columns.width), np.float32),
            "state": ((slots, count, max_live_tasks, state_size), np.float64),
        }
        setup = Setup(
            tuple(runs),
            world,
            policy,
            registrations_for({task for run in runs for task in run.tasks}),
            environments,
            steps,
            noise_colour,
            random_tails,
        )
        self._positions: tuple[int, ...] = ()  # of the tasks whose environments exist
        self._ordered = self._taken = 0  # chunks so far
        self._should_stop = should_stop
        parts = environments_of_workers(count, max(workers, 1))
        super().__init__(setup, parts, shapes, put_back=self._order_to_put_back)
        # The policies of 40 runs are 32 MB, which one thread takes several milliseconds to copy.
        self._starters = ThreadPoolExecutor(min(_STARTERS, cores()), "recall-starts")

    def begin(self, positions: Sequence[int], fresh: Sequence[int]) -> None:
        """Build the environments of the tasks at `positions` in every run, and close all others.

        The tasks in `fresh` start a new episode; the others continue from the shared states.
        """
        assert self._ordered == self._taken, "a chunk is being collected"
        self._positions = ()
        # A state may be smaller than its place; what lies behind it is then equal in all slots.
        self.shared["state"][:] = self.states()
        for process in self._collecting():
            process.send(Begin(tuple(positions), tuple(fresh), self._slot))
        self._answers()
        self._positions = tuple(positions)

    def order_chunk(self, requests: Sequence[ChunkRequest]) -> None:
        """Start a chunk of every requested task in every run, once its policies have arrived.

        A worker starts as soon as the policies of its environments are in the shared memory and the
        chunk before is finished.
        """
        assert self._ordered - self._taken < self._slots, "too many chunks are ordered"
        slot = self._ordered % self._slots
        policies = [
            None if each.policies is None else np.asarray(each.policies) for each in requests
        ]
        parts = tuple(
            Part(each.position, each.first_step // self._environments, each.policies is None)
            for each in requests
        )

        def start(process: WorkerProcess) -> None:
            for number, flat in enumerate(policies):
                if flat is not None:
                    for each in process.part:
                        self.shared["policy"][slot, each, number] = flat[each // self._environments]
            process.send(Chunk(parts, slot))

        list(self._starters.map(start, self._collecting()))
        self._ordered += 1

    def wait_chunk(self) -> tuple[Array, list[tuple[int, int, Outcome]]]:
        """Wait for the oldest ordered chunk; return its rows and the episodes that ended in it.

        Rows are [run, part, chunk, columns]. Episodes are (run, position of the task, outcome).
        """
        answers = self._answers()
        rows = self._by_run(self.shared["rows"][self._slot])
        self._taken += 1
        ended = [item for answer in answers for item in answer]
        ended.sort(key=lambda item: item[:2])
        return rows, [(each // self._environments, *rest) for each, *rest in ended]

    def _answers(self) -> list[Any]:
        return Answers(self, self._collecting()).wait(self._should_stop, _STOP_SECONDS)

    def _by_run(self, rows: Array) -> Array:
        """Return a copy [run, part, chunk, columns] of rows [environment, part, step, columns].

        The environments of a run alternate: each one's rows are `environments` rows apart.
        """
        _, parts, _, width = rows.shape
        apart = rows.reshape(-1, self._environments, *rows.shape[1:])
        return apart.transpose(0, 2, 3, 1, 4).reshape(len(apart), parts, -1, width).copy()

    @property
    def _slot(self) -> int:
        """Return the slot of the chunk after those that were waited for."""
        return self._taken % self._slots

    def no_rows(self) -> Array:
        """Return zeros in the shape of a chunk's rows."""
        return np.zeros_like(self._by_run(self.shared["rows"][0]))

    def states(self) -> Array:
        """Return the states [environment, place, state] after the last chunk waited for."""
        states: Array = self.shared["state"][self._slot].copy()
        return states

    def set_states(self, states: Array) -> None:
        """Set the states from which `begin` continues tasks that are not fresh."""
        self.shared["state"][self._slot] = states

    def play(self, policies: Array, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        """Play episodes with flat `policies` [run, size], spread over all workers."""
        self.shared["eval_policy"][0] = policies
        batches = np.array_split(np.arange(len(episodes)), len(self.processes))
        answers = self.start_episodes(episodes, batches).wait()
        return [result for answer in answers for result in answer]

    def close(self) -> None:
        """End all workers."""
        if hasattr(self, "_starters"):  # not if the workers could not be started
            self._starters.shutdown()
        super().close()

    def _collecting(self) -> list[WorkerProcess]:
        return [process for process in self.processes if process.part]

    def _order_to_put_back(self, process: WorkerProcess) -> Begin | None:
        if not (process.part and self._positions):
            return None
        oldest = process.orders[0]
        slot = oldest.slot if isinstance(oldest, Chunk) else self._slot
        return Begin(self._positions, (), slot)


class EvaluationPool(_FleetWorkers):
    """Plays one list of episodes at a time in the background, from a snapshot of the policies.

    Its processes have a low priority: the learner waits for the slowest collecting worker, but
    nobody waits for these.
    """

    def __init__(
        self,
        runs: Sequence[RunTasks],
        world: WorldSettings,
        policy: PolicyShape,
        places: int,
        workers: int,
    ):
        """Start the workers, with memory for `places` policies of every run."""
        tasks = {task for run in runs for task in run.tasks}
        setup = Setup(tuple(runs), world, policy, registrations_for(tasks))
        shapes = {"eval_policy": ((places, len(runs), policy.size), np.float32)}
        super().__init__(setup, [()] * max(workers, 1), shapes, niceness=_EVALUATION_NICENESS)
        self._pending: Answers | None = None
        self._order: list[int] = []

    @property
    def snapshot(self) -> Array:
        """Policies [place, run, size] from which episodes are played."""
        return self.shared["eval_policy"]

    def start(self, episodes: Sequence[Episode]) -> None:
        """Start to play these episodes from the snapshot, which must not change meanwhile."""
        batches = deal(episodes, len(self.processes))
        self._order = [index for batch in batches for index in batch]
        self._pending = self.start_episodes(episodes, batches)

    def ready(self) -> bool:
        """Return True if all episodes have been played. Does not wait."""
        return self._pending is not None and self._pending.arrive()

    def results(self, should_stop: Callable[[], bool] = never) -> list[EpisodeResult]:
        """Wait for the episodes and return their results; raise Abandoned if `should_stop`."""
        assert self._pending is not None, "no episodes were started"
        played = [result for answer in self._pending.wait(should_stop) for result in answer]
        self._pending = None
        by_index = dict(zip(self._order, played, strict=True))
        return [by_index[index] for index in range(len(played))]


def deal(episodes: Sequence[Episode], workers: int) -> list[list[int]]:
    """Return the indices of the episodes that each worker plays.

    The episodes of one run on one task stay together: a worker steps them in one batch, with one
    policy. Only if there are fewer such batches than workers are they divided.
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


def default_workers(environments: int) -> int:
    """Return the default number of workers: one per environment, but from one to three per core.

    Workers of one environment are the easiest to share out: those of 40 runs on 16 cores were 20
    workers of two, and everybody waited for the cores that had two of these.
    """
    return max(cores(), min(environments, 3 * cores()))


def environments_of_workers(environments: int, workers: int) -> list[tuple[int, ...]]:
    """Return the consecutive environments of each worker.

    Only as many workers get any as are needed to minimise those of the busiest worker. The others
    have none, but still play episodes.
    """
    busy = -(-environments // -(-environments // workers))
    parts = [tuple(part.tolist()) for part in np.array_split(np.arange(environments), busy)]
    return parts + [()] * (workers - busy)
