"""The metrics of every label on every sequence, with intervals: what tables and figures show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recall.methods import METHODS
from recall.results import bootstrap, metrics
from recall.results.bootstrap import Estimate, Sampled
from recall.results.collection import Collection
from recall.results.run_result import RunResult

Array = np.ndarray
PERFORMANCE, FORGETTING, TRANSFER = "average_performance", "forgetting", "forward_transfer"
METRICS = (PERFORMANCE, FORGETTING, TRANSFER)


def learnt_together(method: str) -> bool:
    """Whether a method trains all tasks at once: then there is nothing to forget or to transfer."""
    return method in METHODS and METHODS[method]().collects == "all"


@dataclass(frozen=True)
class Measure:
    """What counts as success, and over how many evaluations it is averaged at a boundary."""

    window: int = metrics.WINDOW
    mode: str = "stochastic"
    field: str = "success"


@dataclass(frozen=True, eq=False)
class Scores:
    """One label on one sequence: a row for each complete run, a column for each task."""

    label: str
    method: str
    variant: str
    sequence: str
    tasks: tuple[str, ...]
    steps_per_task: int
    runs: tuple[RunResult, ...]
    final: Array
    """p_i(N D)."""
    trained: Array
    """p_i(i D)."""
    areas: Array
    """AUC_i."""
    references: Mapping[str, Array]
    """By task: the areas of the single-task runs it is compared with."""

    @property
    def name(self) -> str:
        """What its runs are drawn by."""
        return f"{self.label} on {self.sequence}"

    @property
    def missing_references(self) -> list[str]:
        """The tasks that nobody has learnt alone."""
        return [task for task in dict.fromkeys(self.tasks) if task not in self.references]

    @cached_property
    def performance(self) -> Sampled:
        """P at the end."""
        return self._mean(self.final.mean(axis=1))

    @cached_property
    def forgetting(self) -> Sampled | None:
        """F; None where no task comes before another."""
        if learnt_together(self.method):
            return None
        return self._mean((self.trained - self.final).mean(axis=1))

    @cached_property
    def forward_transfer(self) -> Sampled | None:
        """FT; None without a reference for every task, or where no task comes before another."""
        return None if self._transfers is None else self._transfers[0]

    @cached_property
    def forward_transfer_by_task(self) -> list[Estimate] | None:
        """FT_i of each task; None without a reference for every task."""
        if self._transfers is None:
            return None
        return [sampled.estimate for sampled in self._transfers[1]]

    @cached_property
    def _transfers(self) -> tuple[Sampled, list[Sampled]] | None:
        if self.missing_references or learnt_together(self.method):
            return None
        return bootstrap.forward_transfer(self.areas, self.tasks, self.references, self.name)

    @cached_property
    def interquartile_mean(self) -> Sampled:
        """Of the final successes of all runs and tasks."""
        return bootstrap.sampled_interquartile_mean(self.final, self.name)

    def at_end(self, task: int) -> Sampled:
        """p_task(N D)."""
        return self._mean(self.final[:, task])

    def forgotten(self, task: int) -> Sampled:
        """F_task."""
        return self._mean(self.trained[:, task] - self.final[:, task])

    def metric(self, name: str) -> Sampled | None:
        """One of METRICS."""
        if name == PERFORMANCE:
            return self.performance
        return self.forgetting if name == FORGETTING else self.forward_transfer

    def _mean(self, values: Array) -> Sampled:
        return bootstrap.mean(values, self.name)


class ScoreBoard:
    """The scores of a collection by label and sequence; single tasks are no sequences here."""

    def __init__(self, collection: Collection, measure: Measure | None = None):
        self.collection = collection
        self.measure = measure or Measure()
        self.problems: list[str] = []
        """Runs that are left out because of what was measured, in sentences."""
        self._areas: dict[int, Array] = {}
        self.scores: dict[tuple[str, str], Scores] = {}
        for sequence, part in collection.sequential.by_sequence().items():
            for label, runs in part.by_label().items():
                if scores := self._score(label, sequence, runs):
                    self.scores[label, sequence] = scores

    def get(self, label: str, sequence: str) -> Scores | None:
        """Of one label on one sequence, where there are complete runs."""
        return self.scores.get((label, sequence))

    def among(self, labels: Iterable[str], sequences: Iterable[str]) -> list[Scores]:
        """Those of any of the labels on any of the sequences."""
        wanted = list(sequences)
        found = (self.get(label, sequence) for label in labels for sequence in wanted)
        return [scores for scores in found if scores is not None]

    @property
    def sequences(self) -> list[str]:
        """Those with a complete run."""
        return list(dict.fromkeys(sequence for _, sequence in self.scores))

    @property
    def labels(self) -> list[str]:
        """Those with a complete run, in order."""
        found = {label for label, _ in self.scores}
        return [label for label in self.collection.labels if label in found]

    def _score(self, label: str, sequence: str, runs: Sequence[RunResult]) -> Scores | None:
        window = self.measure.window
        kept, final, trained, areas = [], [], [], []
        for run in runs:
            curve = self._curve(run)
            rows = metrics.final_successes(curve, window), metrics.trained_successes(curve, window)
            own = self.areas_of(run)
            if not run.complete:
                continue
            if not np.isfinite([*rows, own]).all():
                self._leave_out(run)
                continue
            kept.append(run)
            final.append(rows[0])
            trained.append(rows[1])
            areas.append(own)
        if not kept:
            return None
        first = kept[0]
        return Scores(
            label,
            first.method,
            first.variant,
            sequence,
            first.tasks,
            first.steps_per_task,
            tuple(kept),
            np.array(final),
            np.array(trained),
            np.array(areas),
            self._references(first),
        )

    def _leave_out(self, run: RunResult) -> None:
        self.problems.append(
            f"{run.name} in {run.folder} has no {self.measure.mode} {self.measure.field} of some "
            "task, in the task's own stage or at the end: it is left out of the tables."
        )

    def _references(self, run: RunResult) -> dict[str, Array]:
        found = {}
        for task in dict.fromkeys(run.tasks):
            areas = [self.areas_of(other)[0] for other in self.collection.references(run, task)]
            if finite := [area for area in areas if np.isfinite(area)]:
                found[task] = np.array(finite)
        return found

    def areas_of(self, run: RunResult) -> Array:
        """[task] AUC_i of a run."""
        if id(run) not in self._areas:
            self._areas[id(run)] = metrics.areas(self._curve(run))
        return self._areas[id(run)]

    def _curve(self, run: RunResult) -> metrics.Curves:
        return run.curve(self.measure.mode, self.measure.field)
