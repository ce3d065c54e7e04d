"""Recording of a fleet: every record goes to the store and to the callbacks.

A failed run keeps stepping with its fleet, but nothing more is recorded for it.

A burst's metrics are noted when it is started and recorded after the next burst is queued, so the
device does not wait while records are written. Measures of the networks are noted too: a thread
computes their ranks until the next burst is recorded. The order of the records is always the same.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

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
from recall.training.progress import Progress
from recall.worlds.task_names import numbered

Array = np.ndarray


class Noted(NamedTuple):
    """Metrics of a burst that may still be running, and the episodes that ended before it."""

    step: int
    metrics: Any
    episodes: Sequence[Sequence[Any]]
    failed_at: jax.Array


class NotedNetworks(NamedTuple):
    """Measures of the networks of the runs that had not failed at `step`."""

    step: int
    runs: Sequence[int]
    measures: Future[dict[str, Any]]


class Recorder:
    """Writes a fleet's records to the store and passes them on to the callback."""

    def __init__(self, spec: FleetSpec, store: Store, callback: Callback):
        self._names = [run.name for run in spec.runs]
        self._tasks = [numbered(run.task_names) for run in spec.runs]
        self._task_schedule = spec.task_schedule
        self._store, self._callback = store, callback
        self.broken_tasks: dict[str, None] = {}  # that returned non-finite numbers, in this process
        self._noted: Noted | None = None
        self._noted_networks: NotedNetworks | None = None
        self._thread = ThreadPoolExecutor(1, "recall-ranks")

    def evaluation(self, step: int, records: Sequence[EvaluationRecord]) -> None:
        """Record an evaluation of every task."""
        self._store.append("evaluations", records)
        self._callback.on_evaluation(step, records)

    def note(self, noted: Noted) -> None:
        """Keep the burst that was just started; `write` must be called before the next `note`."""
        assert self._noted is None, "the burst before is not recorded"
        self._noted = noted

    def write(self, progress: Progress) -> None:
        """Record the noted burst, if there is one; wait until it is finished."""
        if self._noted is None:
            return
        self.write_networks(progress)
        noted, self._noted = self._noted, None
        self.check_losses(progress, noted.step, noted.failed_at)
        runs = self.alive(progress)
        self._training(progress, noted.step, runs, noted.metrics, noted.episodes)

    def note_networks(self, progress: Progress, step: int, plasticity: Plasticity) -> None:
        """Keep the measures of the networks, and start to compute their ranks."""
        self.write_networks(progress)
        measures = self._thread.submit(plasticity.with_ranks)
        self._noted_networks = NotedNetworks(step, self.alive(progress), measures)

    def write_networks(self, progress: Progress) -> None:
        """Record the noted measures of the networks, if there are any."""
        if self._noted_networks is not None:
            (step, runs, measures), self._noted_networks = self._noted_networks, None
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
        """Record the metrics of updates or of the networks, and the episodes that ended."""
        if not runs:
            return
        values = jax.tree.map(np.asarray, metrics)
        records = training_records(step, runs, episodes, values)
        self._store.append("training", records)
        self._callback.on_training(records)
        self._check_health(progress, step, records)

    def _check_health(
        self, progress: Progress, step: int, records: Sequence[dict[str, Any]]
    ) -> None:
        """Report the problems that these training records show, each problem once."""
        learnt = self._task_schedule.learnt(progress.stage)
        for record in records:
            run = record["run"]
            found = health.symptoms(record, learnt, self._tasks[run])
            for symptom in health.due(found, progress.symptoms, self._names[run]):
                self._store.append("training", [health_record(run, step, symptom)])
                self._callback.on_health(self._names[run], step, symptom.message)

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
        found = fleet.failures(failed_at, self._names)
        together = Counter(found.values())
        for name, update in found.items():
            others = together[update] - 1
            self._fail(
                progress, name, step, f"a loss was not finite in update {update}{_with(others)}"
            )

    def _fail(self, progress: Progress, name: str, step: int, reason: str) -> None:
        if name not in progress.failed:
            progress.failed[name] = step
            self._callback.on_failure(name, step, reason)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()


def _with(others: int) -> str:
    """Say what it means that so many other runs failed in the same update."""
    if not others:
        return ""
    return f", as in {others} other run{'s' * (others > 1)}: the machine may be at fault"
