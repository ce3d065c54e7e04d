"""The pool of workers that collect a fleet's chunks, which are ordered ahead of their time.

Several chunks may be ordered at a time, so that no worker waits for the others. Policies, rows and
states have as many slots in the shared memory, which the chunks use in turns. A chunk's state is
the one at its start; its worker leaves the state at its end in the next slot. After a worker died,
its successor is put back to the start of its oldest unanswered chunk and collects the same.

A thread gives the workers their orders, because policies arrive only when the device has computed
them; the trainer can queue the next burst instead of waiting for them.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from recall.collect.messages import Begin, Chunk, Part, RunTasks, Setup
from recall.collect.policy import PolicyShape
from recall.collect.task_schedule import TaskSchedule
from recall.collect.transition import Columns
from recall.collect.worker import Collector
from recall.settings import ScheduleSettings, WorldSettings
from recall.worlds.episodes import Outcome
from recall.worlds.simulator import Array
from recall.worlds.workers import Answers, Shapes, WorkerGroup, WorkerProcess, never

_STARTERS = 4  # threads that copy policies and start workers
_STOP_SECONDS = 10.0  # time that a chunk has to be finished after a request to stop
# After this time a running thread gives Python's lock to one that waits for it. By default it is
# 5 ms, and workers would idle: the trainer starts a burst and writes records while they get orders.
_SWITCH_SECONDS = 0.0002

Ended = list[tuple[int, int, Outcome]]  # episodes that ended: (run, position, outcome)


class ChunkRequest(NamedTuple):
    """Request to collect for one task in a chunk."""

    position: int
    first_step: int  # number of earlier steps of each run on this task
    policies: Any  # [run, size], may still be computing; None: uniformly random actions


class FleetWorkers(WorkerGroup):
    """Workers that know the runs of a fleet."""

    if_killed = (
        "Use fewer worker processes, which does not change results: `--workers` of `recall train` "
        "and `recall evaluate`, or `workers` in the fleet's run.json before `recall resume FOLDER`"
    )

    def __init__(self, setup: Setup, parts: Sequence[tuple[int, ...]], shapes: Shapes):
        self._setup = setup
        shapes = {**shapes, "doing": ((len(parts), 2), np.int64)}
        super().__init__(setup, parts, shapes, {task for run in setup.runs for task in run.tasks})

    def describe(self, process: WorkerProcess) -> str:
        """Return what a worker is doing, and for which task and run."""
        place = int(self.shared["doing"][process.index, 0])
        if not place:
            return "starting"
        return f"{process.orders[0].activity} {self._setup.shown(place)}"

    def progress(self) -> int:
        """Return the steps of all workers."""
        return int(self.shared["doing"][:, 1].sum())


class Pool(FleetWorkers):
    """Workers of a fleet that collect its chunks."""

    service = Collector

    def __init__(
        self,
        runs: Sequence[RunTasks],
        world: WorldSettings,
        policy: PolicyShape,
        schedule: ScheduleSettings,
        task_schedule: TaskSchedule,
        state_size: int,
        workers: int,
        should_stop: Callable[[], bool] = never,
    ):
        """Allocate the shared memory and start the workers.

        The newest of the ordered chunks has the current policies, up to `policy_lag` others have
        those before; a checkpoint holds these. The environments of a run share its chunks. A chunk
        that is not finished soon after `should_stop` is abandoned.
        """
        self.columns = Columns(policy.observation_size, policy.action_size)
        self._environments = schedule.environments
        count, steps = len(runs) * self._environments, schedule.chunk_steps // self._environments
        self._behind = max(1, schedule.policy_lag)
        slots = self._slots = 1 + self._behind
        parts = task_schedule.most_at_once
        shapes = {
            "policy": ((slots, count, parts, policy.size), np.float32),
            "rows": ((slots, count, parts, steps, self.columns.width), np.float32),
            "state": ((slots, count, task_schedule.max_live_tasks, state_size), np.float64),
        }
        setup = Setup(tuple(runs), world, policy, schedule)
        self._positions: tuple[int, ...] = ()  # of the tasks whose environments exist
        self._ordered = self._taken = 0  # chunks so far
        self._orders: deque[Future[None]] = deque()  # of the chunks that are being rolled out
        self._waiting: deque[tuple[Array, Ended]] = deque()  # to be taken
        self._should_stop = should_stop
        self._thread = ThreadPoolExecutor(1, "recall-orders")
        # The policies of 40 runs are 32 MB, which one thread takes several milliseconds to copy.
        self._starters = ThreadPoolExecutor(min(_STARTERS, cores()), "recall-starts")
        self._switch_seconds = sys.getswitchinterval()
        super().__init__(setup, environments_of_workers(count, max(workers, 1)), shapes)
        sys.setswitchinterval(min(self._switch_seconds, _SWITCH_SECONDS))

    def begin(self, positions: Sequence[int], fresh: Sequence[int]) -> None:
        """Build the environments of the tasks at `positions` in every run, and close all others.

        The tasks in `fresh` start a new episode; the others continue from the shared states.
        """
        assert self._ordered == self._taken, "a chunk is being collected"
        self._positions = ()
        # A state may be smaller than its place; what lies behind it is then equal in all slots.
        self.shared["state"][:] = self._states()
        for process in self.processes:
            process.send(Begin(tuple(positions), tuple(fresh), self._slot))
        self._answers()
        self._positions = tuple(positions)

    @property
    def ordered(self) -> int:
        """Return the number of chunks that are being rolled out or waiting to be taken."""
        return len(self._orders) + len(self._waiting)

    def order(self, requests: Sequence[ChunkRequest]) -> None:
        """Roll out a chunk of each requested task in every run, once its policies have arrived."""
        self._orders.append(self._thread.submit(self._order, requests))

    def _order(self, requests: Sequence[ChunkRequest]) -> None:
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

        list(self._starters.map(start, self.processes))
        self._ordered += 1

    def wait(self) -> None:
        """Wait for the ordered chunks that a checkpoint holds."""
        while len(self._waiting) < self._behind and self._orders:
            self._wait_for_one()

    def take(self) -> tuple[Array, Ended]:
        """Return the oldest ordered chunk: its rows and the episodes that ended in it.

        Rows are [run, part, chunk, columns]. Episodes are (run, position of the task, outcome).
        """
        if not self._waiting:
            assert self._orders, "no chunk was ordered"
            self._wait_for_one()
        return self._waiting.popleft()

    def _wait_for_one(self) -> None:
        self._orders[0].result()
        answers = self._answers()
        rows = self._by_run(self.shared["rows"][self._slot])
        self._taken += 1
        ended = [item for answer in answers for item in answer]
        ended.sort(key=lambda item: item[:2])
        self._waiting.append((rows, [(each // self._environments, *rest) for each, *rest in ended]))
        self._orders.popleft()

    def _answers(self) -> list[Any]:
        return Answers(self, self.processes).wait(self._should_stop, _STOP_SECONDS)

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

    def _states(self) -> Array:
        """Return the states [environment, place, state] after the last chunk waited for."""
        return self.shared["state"][self._slot].copy()

    def saved(self) -> tuple[dict[str, Array], list[Any]]:
        """Return the state for a checkpoint, after `wait`: arrays, and plain data.

        A chunk that is still rolled out is not part of it: it will be collected again.
        """
        rows = np.array([each for each, _ in self._waiting])  # [waiting chunk, ...]
        ended = [[[run, at, *outcome] for run, at, outcome in each] for _, each in self._waiting]
        return {"states": self._states(), "rows": rows}, ended

    def restore(self, arrays: dict[str, Array], ended: list[Any]) -> None:
        """Restore the state that `saved` returned; `begin` continues tasks that are not fresh."""
        self.shared["state"][self._slot] = arrays["states"]
        self._waiting.clear()
        for rows, each in zip(arrays["rows"], ended, strict=True):
            outcomes = [(run, at, Outcome(*outcome)) for run, at, *outcome in each]
            self._waiting.append((rows, outcomes))

    def close(self) -> None:
        """Wait for pending orders, and end all workers."""
        self._thread.shutdown()
        self._starters.shutdown()
        sys.setswitchinterval(self._switch_seconds)
        super().close()

    def put_back(self, process: WorkerProcess) -> Begin | None:
        """Return the order to build the environments in their states before the oldest chunk."""
        if not self._positions:
            return None
        oldest = process.orders[0]
        slot = oldest.slot if isinstance(oldest, Chunk) else self._slot
        return Begin(self._positions, (), slot)


_given_cores: int | None = None


def use_cores(count: int | None) -> None:
    """Count on so many cores, such as a fleet's share of a node; None: on all there are."""
    global _given_cores
    _given_cores = count


def cores() -> int:
    """Return the number of cores that fleets in this process may use."""
    if _given_cores is not None:
        return _given_cores
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_workers(environments: int) -> int:
    """Return the default number of workers: one per environment, but from one to three per core."""
    return max(cores(), min(environments, 3 * cores()))


def environments_of_workers(environments: int, workers: int) -> list[tuple[int, ...]]:
    """Return the environments of each worker, of as few as keep the busiest one's fewest."""
    busy = -(-environments // -(-environments // workers))
    return [tuple(part.tolist()) for part in np.array_split(np.arange(environments), busy)]
