"""Recording of a fleet: every record goes to the store and to the callbacks.

Records are deferred until the next burst is queued, so the device does not wait while they are
written. A thread computes the ranks of the networks until the next record.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from recall.config.spec import FleetSpec
from recall.learn import fleet
from recall.learn.plasticity import Plasticity
from recall.runs import health
from recall.runs.evaluations import EvaluationRecord
from recall.runs.store import Store
from recall.runs.training_records import health_record, training_records
from recall.training.callbacks import Callback
from recall.training.checkpoint import Progress
from recall.worlds.task_names import numbered

Array = np.ndarray


class Recorder:
    """Writes a fleet's records to the store and passes them on to the callback."""

    def __init__(self, spec: FleetSpec, store: Store, callback: Callback):
        self._names = [run.name for run in spec.runs]
        self._tasks = [numbered(run.task_names) for run in spec.runs]
        self._spec, self._task_schedule = spec, spec.task_schedule
        self._store, self._callback = store, callback
        self.broken_tasks: dict[str, None] = {}  # that returned non-finite numbers, in this process
        self._deferred: list[Callable[[], None]] = []
        # The step of the measures of the networks, and the runs that had not failed by then.
        self._networks: tuple[int, list[int], Future[dict[str, Any]]] | None = None
        self._thread = ThreadPoolExecutor(1, "recall-ranks")

    def defer(self, record: Callable[[], None]) -> None:
        """Have `flush` call this function, which may wait for the device."""
        self._deferred.append(record)

    def flush(self) -> None:
        """Record what was deferred, but for the networks, whose ranks may still be computed."""
        deferred, self._deferred = self._deferred, []
        for record in deferred:
            record()

    def evaluation(self, step: int, records: Sequence[EvaluationRecord]) -> None:
        """Record an evaluation of every task."""
        self._store.append("evaluations", records)
        self._callback.on_evaluation(step, records)

    def burst(
        self,
        progress: Progress,
        step: int,
        metrics: Any,
        episodes: Sequence[Sequence[Any]],
        failed_at: Any,
    ) -> None:
        """Record the metrics of a burst, and the episodes that ended before it."""
        self.write_networks(progress)
        self.check_losses(progress, step, failed_at)
        self._training(progress, step, self.alive(progress), metrics, episodes)

    def networks(self, progress: Progress, step: int, plasticity: Plasticity) -> None:
        """Keep the measures of the networks, and start to compute their ranks."""
        self.write_networks(progress)
        measures = self._thread.submit(plasticity.with_ranks)
        self._networks = step, self.alive(progress), measures

    def write_networks(self, progress: Progress) -> None:
        """Record the measures of the networks that were kept, if there are any."""
        if self._networks is not None:
            (step, runs, measures), self._networks = self._networks, None
            self._training(progress, step, runs, measures.result())

    def alive(self, progress: Progress) -> list[int]:
        """Return the runs that have not failed."""
        return [run for run, name in enumerate(self._names) if name not in progress.failed]

    def _training(
        self,
        progress: Progress,
        step: int,
        runs: Sequence[int],
        metrics: Any,
        episodes: Sequence[Sequence[Any]] = (),
    ) -> None:
        """Record metrics, and report the problems that they show, each problem once."""
        if not runs:
            return
        values = jax.tree.map(np.asarray, metrics)
        if self._spec.hidden:
            current = self._task_schedule.current(progress.stage)
            values = {name: self._of_task(value, current) for name, value in values.items()}
        records = training_records(step, runs, episodes, values)
        self._store.append("training", records)
        self._callback.on_training(records)
        learned = self._task_schedule.learned(progress.stage)
        for record in records:
            run = record["run"]
            found = health.symptoms(record, learned, self._tasks[run])
            for symptom in health.due(found, progress.symptoms, self._names[run]):
                self._store.append("training", [health_record(run, step, symptom)])
                self._callback.on_health(self._names[run], step, symptom.message)

    def _of_task(self, values: Array, position: int) -> Array:
        """Return values [run, 1] of the only head as those of one task, [run, task]."""
        if values.ndim == 1:  # not of a head
            return values
        of_tasks = np.full((len(values), self._spec.tasks), np.nan, values.dtype)
        of_tasks[:, position] = values[:, 0]
        return of_tasks

    def check_rows(
        self, progress: Progress, step: int, rows: Array, positions: Sequence[int]
    ) -> None:
        """Report runs whose chunk, rows [run, part, step, columns], has non-finite numbers."""
        for part, position in enumerate(positions):
            finite = np.isfinite(rows[:, part]).all(axis=2)  # [run, step]
            for run in np.flatnonzero(~finite.all(axis=1)):
                task = self._tasks[run][position]
                first = step + int(np.argmin(finite[run])) + 1
                self.broken_tasks[task] = None
                reason = f"{task} returned a non-finite number"
                self._fail(progress, self._names[run], first, reason)

    def check_losses(self, progress: Progress, step: int, failed_at: Any) -> None:
        """Report runs whose losses became non-finite, in the update `failed_at` [run]."""
        for name, update in fleet.failures(failed_at, self._names).items():
            self._fail(progress, name, step, f"a loss was not finite in update {update}")

    def _fail(self, progress: Progress, name: str, step: int, reason: str) -> None:
        if name not in progress.failed:
            progress.failed[name] = step
            self._callback.on_failure(name, step, reason)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()
