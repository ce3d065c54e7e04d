"""Evaluation beside training: episodes are played from a snapshot while the fleet trains on.

An evaluation is a function of its step, the seeds and the snapshot, so nothing depends on when it
is finished. At most one is pending: when the next one is due, training waits for it. The results
are therefore reported in the order of their steps, each at most one evaluation interval late. A
checkpoint holds the snapshot of a pending evaluation, which is played again after resuming.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from recall.collect.messages import RunTasks
from recall.collect.policy import PolicyShape
from recall.collect.pool import EvaluationPool
from recall.config.spec import FleetSpec
from recall.runs.evaluations import EvaluationRecord
from recall.training.evaluation import counts_of, planned, recorded
from recall.training.worker_counts import evaluation_workers
from recall.worlds.workers import Abandoned, never

Array = np.ndarray


class Pending(NamedTuple):
    """An evaluation that was started: its step, and the runs that had not failed at that step."""

    step: int
    runs: list[int]


class BackgroundEvaluation:
    """Evaluates one snapshot of a fleet's policies at a time, in processes of its own."""

    def __init__(
        self,
        spec: FleetSpec,
        shape: PolicyShape,
        report: Callable[[int, list[EvaluationRecord]], None],
    ):
        """Prepare for the fleet; `report` is called with every evaluation's step and records."""
        self._spec, self._shape, self._report = spec, shape, report
        self._positions = range(spec.tasks)
        self._counts = counts_of(spec.settings.schedule)
        self._pool: EvaluationPool | None = None
        self.pending: Pending | None = None

    def start(self, step: int, policies: Sequence[Any], runs: Sequence[int]) -> None:
        """Take a snapshot of the policies [task][run, size] and start to evaluate these runs.

        Waits for policies that are still being computed.
        """
        assert self.pending is None, "the evaluation before is not finished"
        snapshot = self._ready_pool().snapshot
        for position in self._positions:
            snapshot[position] = policies[position]
        self._play(Pending(step, list(runs)))

    def _play(self, pending: Pending) -> None:
        step, runs = pending
        episodes = planned(self._spec.runs, runs, self._positions, step, self._counts)
        self._ready_pool().start(episodes)
        self.pending = pending

    def report_finished(self) -> None:
        """Report the pending evaluation if all of its episodes are played. Does not wait."""
        if self.pending is not None and self._ready_pool().ready():
            self.finish()

    def finish(self, should_stop: Callable[[], bool] = never) -> bool:
        """Wait for the pending evaluation and report it; return False if `should_stop`."""
        if self.pending is None:
            return True
        try:
            results = self._ready_pool().results(should_stop)
        except Abandoned:
            return False
        (step, runs), self.pending = self.pending, None
        plan = (self._spec.runs, runs, self._positions, step, self._counts)
        self._report(step, list(recorded(*plan, results)))
        return True

    def saved(self) -> tuple[dict[str, Array], Any]:
        """Return the state for a checkpoint: arrays, and plain data."""
        if self.pending is None:
            return {}, None
        return {"policies": self._ready_pool().snapshot.copy()}, list(self.pending)

    def arrays_like(self, saved: Any) -> dict[str, Array]:
        """Return arrays of the shapes that `saved` returned together with this plain data."""
        shape = (self._spec.tasks, len(self._spec.runs), self._shape.size)
        return {} if saved is None else {"policies": np.zeros(shape, np.float32)}

    def restore(self, arrays: dict[str, Array], saved: Any) -> None:
        """Continue from the state that `saved` returned: play a pending evaluation again."""
        if saved is not None:
            self._ready_pool().snapshot[:] = arrays["policies"]
            self._play(Pending(*saved))

    def process_ids(self) -> list[int]:
        """Return the process ids of the workers."""
        return self._pool.process_ids() if self._pool is not None else []

    @property
    def restarts(self) -> int:
        """Number of workers that died and were restarted."""
        return self._pool.restarts if self._pool is not None else 0

    def _ready_pool(self) -> EvaluationPool:
        """Return the workers; start them at the first evaluation."""
        if self._pool is None:
            spec = self._spec
            self._pool = EvaluationPool(
                [RunTasks(run.own_seed, run.tasks) for run in spec.runs],
                spec.settings.world,
                self._shape,
                spec.tasks,
                evaluation_workers(spec),
            )
        return self._pool

    def close(self) -> None:
        """End the workers; a pending evaluation is abandoned."""
        if self._pool is not None:
            self._pool.close()
