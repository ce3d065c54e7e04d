"""Evaluation of every task's head on its task, by processes of its own, at most one at a time.

It is a function of its step, the seeds and a snapshot of the policies. A checkpoint holds the
snapshot of a pending one, which is played again after resuming.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from recall.collect.evaluation_pool import EvaluationPool
from recall.collect.messages import EVALUATION, OTHER_EPISODES, Episode, RunTasks
from recall.collect.policy import PolicyShape
from recall.config.spec import FleetSpec, RunSpec
from recall.runs.evaluations import MODES, EvaluationRecord, Mode
from recall.settings import ScheduleSettings
from recall.training.agents import evaluation_workers
from recall.worlds.episodes import Outcome
from recall.worlds.registry import task_label
from recall.worlds.workers import Abandoned, never

Array = np.ndarray


def counts_of(schedule: ScheduleSettings) -> dict[Mode, int]:
    """Return how many episodes of each mode an evaluation during training has."""
    return {
        "stochastic": schedule.evaluation_episodes,
        "deterministic": schedule.deterministic_episodes,
    }


class Evaluation(NamedTuple):
    """An evaluation: which tasks of which runs play how many episodes."""

    runs: Sequence[RunSpec]
    step: int
    counts: Mapping[Mode, int]
    places: Sequence[tuple[int, int]]  # (position of the task, index of the run)
    seed: int | None = None  # None: the episodes of training at this step

    def episodes(self) -> list[Episode]:
        """Return the episodes, each with the policy that is trained for its task."""
        domain = EVALUATION if self.seed is None else OTHER_EPISODES
        return [
            Episode(run, position, mode == "deterministic", stream)
            for position, run in self.places
            for mode, count in self.counts.items()
            for seed in [self.runs[run].own_seed if self.seed is None else self.seed]
            for stream in streams(seed, domain, position, self.step, mode, count)
        ]

    def records(self, results: Sequence[Outcome]) -> Iterator[EvaluationRecord]:
        """Yield the records of the results of `episodes`; a mode without episodes has none."""
        played = iter(results)
        for position, run in self.places:
            task = task_label(self.runs[run].tasks[position])
            for mode, count in self.counts.items():
                if count:
                    place = {"run": run, "step": self.step, "position": position, "task": task}
                    means = summary([next(played) for _ in range(count)])
                    record = {**place, "mode": mode, "episodes": count, **means}
                    yield cast(EvaluationRecord, record)


def streams(
    seed: int, domain: int, position: int, step: int, mode: Mode, episodes: int
) -> list[tuple[int, ...]]:
    """Return the random streams of one task's episodes in one evaluation."""
    kind = MODES.index(mode)
    return [(seed, domain, position, step, kind, episode) for episode in range(episodes)]


def summary(results: Sequence[Outcome]) -> dict[str, float]:
    """Return the mean success, last success and return over episodes, and those of criteria."""
    totals = [
        {"success": each.success, "last_success": each.last_success, "return": each.episode_return}
        | dict(each.criteria)
        for each in results
    ]
    return {name: float(np.mean([total[name] for total in totals])) for name in totals[0]}


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
        self.pending: Evaluation | None = None

    def start(self, step: int, policies: Sequence[Any], runs: Sequence[int]) -> None:
        """Take a snapshot of the policies [task][run, size], and start to evaluate these runs."""
        for position, flat in enumerate(policies):  # may still be computed
            self.pool.snapshot[position] = flat
        places = [(position, run) for position in range(self._spec.tasks) for run in runs]
        counts = counts_of(self._spec.settings.schedule)
        self.pending = Evaluation(self._spec.runs, step, counts, places)
        self.pool.start(self.pending.episodes())

    def report_finished(self) -> None:
        """Report the pending evaluation if all of its episodes are played. Does not wait."""
        if self.pending is not None and self.pool.ready():
            self.finish()

    def finish(self, should_stop: Callable[[], bool] = never) -> bool:
        """Wait for the pending evaluation and report it; return False if `should_stop`."""
        if self.pending is None:
            return True
        try:
            results = self.pool.results(should_stop)
        except Abandoned:
            return False
        pending, self.pending = self.pending, None
        self._report(pending.step, list(pending.records(results)))
        return True

    def saved(self) -> tuple[dict[str, Array], Any]:
        """Return the state for a checkpoint: arrays, and plain data."""
        if self.pending is None:
            return {}, None
        runs = [run for position, run in self.pending.places if position == 0]
        return {"policies": self.pool.snapshot.copy()}, [self.pending.step, runs]

    def restore(self, arrays: dict[str, Array], saved: Any) -> None:
        """Continue from the state that `saved` returned: play a pending evaluation again."""
        if saved is not None:
            step, runs = saved
            self.start(step, list(arrays["policies"]), runs)

    @cached_property
    def pool(self) -> EvaluationPool:
        """Return the workers, which the first evaluation starts."""
        workers = evaluation_workers(self._spec)
        return evaluation_pool(self._spec.runs, self._spec, self._shape, workers)

    def close(self) -> None:
        """End the workers; a pending evaluation is abandoned."""
        if "pool" in vars(self):
            self.pool.close()


def evaluation_pool(
    runs: Sequence[RunSpec], spec: FleetSpec, shape: PolicyShape, workers: int
) -> EvaluationPool:
    """Start worker processes that evaluate these runs of a fleet."""
    tasks = [RunTasks(run.own_seed, run.tasks) for run in runs]
    return EvaluationPool(tasks, spec.settings.world, shape, workers)
