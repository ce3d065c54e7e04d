"""The metrics of every label on every sequence, with intervals, for tables and figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from recall.analysis import bootstrap, metrics
from recall.analysis.bootstrap import Estimate, Sampled
from recall.analysis.collection import Collection
from recall.analysis.measures import FORGETTING, PERFORMANCE, RETURN, Measure
from recall.analysis.references import EVALUATE_EVERY, References
from recall.analysis.run_result import RunResult
from recall.analysis.together import learnt_together
from recall.runs.evaluations import RATES

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one label on one sequence, with arrays [complete run, task].

    Tasks that do not report success are left out of the tasks and of the arrays.
    """

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
    """By task, the areas of the single-task runs to compare with."""
    refused: tuple[str, ...] = ()
    """Sentences on single-task runs that are not comparable."""
    compared: Mapping[str, References] = field(default_factory=dict)
    """By task, the single-task runs that were compared with."""
    evaluations: int = 0
    """Number of evaluations in a stage."""
    window: int = metrics.WINDOW
    """Number of evaluations that are averaged at the end of a stage."""
    seeds: tuple[int, ...] = ()
    """The seeds of this label on any sequence, which the bootstrap draws from."""
    positions: tuple[int, ...] = ()
    """Positions of the tasks in the sequence."""

    @property
    def sequence_tasks(self) -> tuple[str, ...]:
        """Return all tasks of the sequence."""
        return self.runs[0].tasks

    @property
    def silent(self) -> tuple[str, ...]:
        """Return the tasks that are left out, because they do not report success."""
        return tuple(
            task
            for position, task in enumerate(self.sequence_tasks)
            if position not in self.positions
        )

    @property
    def name(self) -> str:
        """Return the name that seeds the bootstrap draws, the same for all sequences of a label."""
        return f"{self.label} with seeds {' '.join(map(str, self.seeds))}"

    @property
    def missing_references(self) -> list[str]:
        """Return the tasks without single-task reference runs."""
        return [task for task in dict.fromkeys(self.tasks) if task not in self.references]

    @cached_property
    def performance(self) -> Sampled:
        """Return P at the end of the sequence."""
        return self._mean(metrics.average_performance(self.final))

    @cached_property
    def forgetting(self) -> Sampled | None:
        """Return F, or None if all tasks are learnt at once."""
        if learnt_together(self.method):
            return None
        return self._mean(metrics.forgetting(self.trained, self.final))

    @cached_property
    def forward_transfer(self) -> Sampled | None:
        """Return FT, or None if a task lacks a reference or all tasks are learnt at once."""
        return None if self._transfers is None else self._transfers[0]

    @cached_property
    def forward_transfer_by_task(self) -> list[Estimate] | None:
        """Return FT_i of each task, or None in the same cases as `forward_transfer`."""
        if self._transfers is None:
            return None
        return [sampled.estimate for sampled in self._transfers[1]]

    def transfer_of(self, task: int) -> Sampled | None:
        """Return FT_task, or None if there is none or its reference leaves nothing to gain."""
        if self._transfers is None or np.isnan(self._transfers[1][task].value):
            return None
        return self._transfers[1][task]

    @cached_property
    def _transfers(self) -> tuple[Sampled, list[Sampled]] | None:
        if self.missing_references or learnt_together(self.method):
            return None
        return bootstrap.forward_transfer(self.areas, self.tasks, self.references, self.weights)

    @cached_property
    def interquartile_mean(self) -> Sampled:
        """Return the interquartile mean of the final successes of all runs and tasks."""
        return bootstrap.sampled_interquartile_mean(self.final, self.name)

    def by_run(self, metric: str) -> Array | None:
        """Return a metric of each run on its own, [run], or None in the same cases as `metric`."""
        if metric == PERFORMANCE:
            return metrics.average_performance(self.final)
        if learnt_together(self.method):
            return None
        if metric == FORGETTING:
            return metrics.forgetting(self.trained, self.final)
        if self.missing_references:
            return None
        reference = np.array([self.references[task].mean() for task in self.tasks])
        return metrics.forward_transfer(self.areas, reference)

    def at_end(self, task: int) -> Sampled:
        """Return p_task(N D)."""
        return self._mean(self.final[:, task])

    def when_learnt(self, task: int) -> Sampled:
        """Return p_task at the end of the task's own stage."""
        return self._mean(self.trained[:, task])

    def forgotten(self, task: int) -> Sampled:
        """Return F_task."""
        return self._mean(self.trained[:, task] - self.final[:, task])

    def metric(self, name: str) -> Sampled | None:
        """Return the metric called `name`, one of METRICS."""
        if name == PERFORMANCE:
            return self.performance
        return self.forgetting if name == FORGETTING else self.forward_transfer

    def _mean(self, values: Array) -> Sampled:
        return bootstrap.weighted_mean(values, self.weights)

    @cached_property
    def weights(self) -> Array | None:
        """Return the weights [draw, run] of the bootstrap; None for a single seed."""
        own = [run.seed for run in self.runs]
        return bootstrap.weights_by_seed(own, self.seeds, self.name)


class ScoreBoard:
    """The scores of a collection by label and sequence, without single-task runs.

    Sequences whose tasks do not report success are scored by return alone.
    """

    def __init__(self, collection: Collection, measure: Measure | None = None):
        self.collection = collection
        self.measure = measure or Measure()
        self.problems: list[str] = []
        """Sentences about runs that are left out because they lack a measured value."""
        self._areas: dict[int, Array] = {}
        self.scores: dict[tuple[str, str], Scores] = {}
        measured = collection if self.measure.field == RETURN else collection.with_success
        for sequence, part in measured.sequential.by_sequence().items():
            positions = self._scored_positions(part.runs)
            for label, runs in part.by_label().items():
                if scores := self._score(label, sequence, runs, positions):
                    self.scores[label, sequence] = scores
        self._share_seeds()

    def get(self, label: str, sequence: str) -> Scores | None:
        """Return the scores of one label on one sequence, or None without complete runs."""
        return self.scores.get((label, sequence))

    def among(self, labels: Iterable[str], sequences: Iterable[str]) -> list[Scores]:
        """Return the scores of any of the labels on any of the sequences."""
        wanted = list(sequences)
        found = (self.get(label, sequence) for label in labels for sequence in wanted)
        return [scores for scores in found if scores is not None]

    @property
    def sequences(self) -> list[str]:
        """Return the sequences that have a complete run."""
        return list(dict.fromkeys(sequence for _, sequence in self.scores))

    @property
    def labels(self) -> list[str]:
        """Return the labels that have a complete run, in order."""
        found = {label for label, _ in self.scores}
        return [label for label in self.collection.labels if label in found]

    def _scored_positions(self, runs: Sequence[RunResult]) -> list[int]:
        """Return the positions of the tasks whose measured value all these runs know."""
        silent = {task for run in runs for task in run.without_success}
        rates = self.measure.field in RATES
        return [
            position
            for position, task in enumerate(runs[0].tasks)
            if not rates or task not in silent
        ]

    def _score(
        self, label: str, sequence: str, runs: Sequence[RunResult], positions: list[int]
    ) -> Scores | None:
        window = self.measure.window
        kept, final, trained, areas = [], [], [], []
        for run in runs:
            curve = self._curve(run)
            rows = [
                metrics.final_successes(curve, window)[positions],
                metrics.trained_successes(curve, window)[positions],
            ]
            own = self.areas_of(run)[positions]
            if not run.complete:
                continue
            needed = rows[:1] if learnt_together(run.method) else [*rows, own]
            if not np.isfinite(needed).all():
                self._leave_out(run)
                continue
            kept.append(run)
            final.append(rows[0])
            trained.append(rows[1])
            areas.append(own)
        if not kept:
            return None
        first = kept[0]
        areas_alone, compared = self._references(first)
        refused = dict.fromkeys(text for each in compared.values() for text in each.refused)
        evaluations = min(metrics.evaluations_of_stage(self._curve(run)) for run in kept)
        return Scores(
            label,
            first.method,
            first.variant,
            sequence,
            tuple(first.tasks[position] for position in positions),
            first.steps_per_task,
            tuple(kept),
            np.array(final),
            np.array(trained),
            np.array(areas),
            areas_alone,
            tuple(refused),
            compared,
            evaluations,
            metrics.window_of(evaluations, window),
            positions=tuple(positions),
        )

    def _share_seeds(self) -> None:
        """Tell the scores of every label which seeds it has on any sequence."""
        seeds: dict[str, set[int]] = {}
        for (label, _), scores in self.scores.items():
            seeds.setdefault(label, set()).update(run.seed for run in scores.runs)
        for key, scores in self.scores.items():
            self.scores[key] = replace(scores, seeds=tuple(sorted(seeds[key[0]])))

    def _leave_out(self, run: RunResult) -> None:
        self.problems.append(
            f"{run.name} in {run.folder} has no {self.measure.mode} {self.measure.field} of some "
            "task, in the task's own stage or at the end: it is left out of the tables."
        )

    def _references(self, run: RunResult) -> tuple[dict[str, Array], dict[str, References]]:
        """Return the areas of the single-task runs of each task, and these runs."""
        found: dict[str, Array] = {}
        compared: dict[str, References] = {}
        for position, task in enumerate(run.tasks):
            if task in compared:
                continue
            compared[task] = self.collection.references(run, task)
            areas = [self._area_alone(run, position, other) for other in compared[task].runs]
            if finite := [area for area in areas if np.isfinite(area)]:
                found[task] = np.array(finite)
        return found, compared

    def _area_alone(self, run: RunResult, position: int, reference: RunResult) -> float:
        """Return AUC of a single-task run, at the run's own evaluations if it has others."""
        steps = metrics.steps_of_stage(self._curve(run), position)
        if _evaluated_alike(run, reference, steps):
            return self.areas_of(reference)[0]
        return metrics.area_at(self._curve(reference), steps)

    def areas_of(self, run: RunResult) -> Array:
        """Return AUC_i of a run, [task]."""
        if id(run) not in self._areas:
            self._areas[id(run)] = metrics.areas(self._curve(run))
        return self._areas[id(run)]

    def _curve(self, run: RunResult) -> metrics.Curves:
        return run.curve(self.measure.mode, self.measure.field)


def _evaluated_alike(run: RunResult, reference: RunResult, steps: Array) -> bool:
    """Return True if both stages have the same evaluations; `steps` are those of the run's."""
    if run.steps_per_task != reference.steps_per_task:
        return False
    intervals = [each.settings.get(EVALUATE_EVERY) for each in (run, reference)]
    if None not in intervals:
        return intervals[0] == intervals[1]
    return np.array_equal(steps, reference.steps[reference.steps > 0])
