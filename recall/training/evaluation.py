"""Evaluation of every task's head on its task."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from recall.collect.messages import EVALUATION, OTHER_EPISODES, Episode, EpisodeResult
from recall.collect.pool import Pool
from recall.runs.evaluations import MODES, EvaluationRecord, Mode, evaluation_record
from recall.settings import ScheduleSettings
from recall.worlds.registry import task_label

Array = np.ndarray
PoliciesOf = Callable[[int], Array]  # position -> flat policies [run, size]
Counts = Mapping[Mode, int]  # episodes of each task in an evaluation


def counts_of(schedule: ScheduleSettings) -> Counts:
    """Return how many episodes of each mode an evaluation during training has."""
    return {
        "stochastic": schedule.evaluation_episodes,
        "deterministic": schedule.deterministic_episodes,
    }


def evaluate(
    pool: Pool,
    runs: Sequence[Any],
    policies_of: PoliciesOf,
    step: int,
    counts: Counts,
    positions: Sequence[int] | None = None,
    wanted: Sequence[Collection[int]] | None = None,
    seed: int | None = None,
) -> Iterator[EvaluationRecord]:
    """Evaluate every task of every run with `counts` of episodes; yield the records.

    `positions` restricts the evaluation to the tasks at these positions (None: all), and `wanted`
    does the same for each run on its own. With a `seed` the episodes are others than in training,
    and the same for all runs.
    """
    for position in range(len(runs[0].tasks)) if positions is None else positions:
        chosen = [
            index for index in range(len(runs)) if wanted is None or position in wanted[index]
        ]
        played = planned(runs, chosen, [position], step, counts, seed)
        results = pool.play(policies_of(position), [each._replace(place=0) for each in played])
        yield from recorded(runs, chosen, [position], step, counts, results)


def planned(
    runs: Sequence[Any],
    chosen: Sequence[int],
    positions: Sequence[int],
    step: int,
    counts: Counts,
    seed: int | None = None,
) -> list[Episode]:
    """Return the episodes of an evaluation, each with the policy at the place of its position.

    They are those of training at this `step`, or others with a `seed`.
    """
    domain = EVALUATION if seed is None else OTHER_EPISODES
    return [
        Episode(index, position, mode == "deterministic", stream, position)
        for position in positions
        for index in chosen
        for mode, count in counts.items()
        for stream in streams(
            runs[index].own_seed if seed is None else seed, domain, position, step, mode, count
        )
    ]


def recorded(
    runs: Sequence[Any],
    chosen: Sequence[int],
    positions: Sequence[int],
    step: int,
    counts: Counts,
    results: Iterable[EpisodeResult],
) -> Iterator[EvaluationRecord]:
    """Yield the records of an evaluation from the results of its `planned` episodes.

    A mode without episodes has no record.
    """
    results = iter(results)
    for position in positions:
        for index in chosen:
            task = task_label(runs[index].tasks[position])
            for mode, count in counts.items():
                if count:
                    means = summary([next(results) for _ in range(count)])
                    yield evaluation_record(index, step, position, task, mode, count, means)


def streams(
    seed: int, domain: int, position: int, step: int, mode: Mode, episodes: int
) -> list[tuple[int, ...]]:
    """Return the random streams of one task's episodes in one evaluation."""
    kind = MODES.index(mode)
    return [(seed, domain, position, step, kind, episode) for episode in range(episodes)]


def summary(results: Sequence[EpisodeResult]) -> dict[str, float]:
    """Return the mean success, last success and return over episodes, and those of criteria."""
    return {
        "success": float(np.mean([result.success for result in results])),
        "last_success": float(np.mean([result.last_success for result in results])),
        "return": float(np.mean([result.episode_return for result in results])),
        **{
            name: float(np.mean([result.criteria[name] for result in results]))
            for name in results[0].criteria
        },
    }
