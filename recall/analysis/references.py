"""Single-task runs of plain SAC that forward transfer compares with, and why others are refused.

Forward transfer says how much the sequence helped. So a reference run may differ from the run that
it is compared with in the sequence and the method alone: the task, the world, the steps, the
networks, the batches and the optimiser must be the same.

Five settings may differ (TOLERATED) if no reference has the same ones: the interval between
evaluations, because a curve can be read at other steps (recall.analysis.metrics.area_at), the
precision of matrix products, by how many bursts the collecting policies are behind, in how many
environments a run collects, and the average of the actor. A reference may also be longer than
needed, if it was evaluated often enough: plain SAC does not know how long it will train, so the
beginning of its curve is that of a shorter run. Runs that were found come before those that are
shipped with the package, unless the found ones are longer.
Reports say which were used, and what differs.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from recall.analysis import continual_world_logs
from recall.analysis.departures import (
    AVERAGE,
    METHOD,
    NO_MATTER,
    PRECISION,
    STEPS,
    comparable,
    settings_of_preset,
)
from recall.analysis.labels import settings_in_words
from recall.analysis.run_result import RunResult

REFERENCE_METHOD = "fine_tuning"
BATCH = f"{METHOD}batch_size"
EVALUATE_EVERY = "schedule.evaluate_every"
POLICY_LAG = "schedule.policy_lag"
ENVIRONMENTS = "schedule.environments"
TOLERATED = (EVALUATE_EVERY, PRECISION, POLICY_LAG, ENVIRONMENTS, AVERAGE)
# Number of evaluations that must lie in the part of a longer run that counts, because the value of
# the first one is taken for all steps before it.
_FEWEST_EVALUATIONS = 4
# Settings that plain SAC on a single task does not use; the last two are of older records.
_UNUSED = ("learner.popart.", "schedule.scoring_episodes", "schedule.random_steps_after_copy")
# Settings of Continual World's code that concern SAC itself.
_OF_LOGS = tuple(
    f"log.{name}"
    for name in ("activation", "alpha", "batch_size", "gamma", "hidden_sizes", "lr",
                 "target_output_std", "use_layer_norm")
)  # fmt: skip


class References(NamedTuple):
    """The runs to compare one task with, and sentences on the runs that are not comparable."""

    runs: list[RunResult]
    refused: list[str]
    shipped: bool = False
    """Whether the runs come with the package."""


def is_reference(run: RunResult) -> bool:
    """Return True for complete single-task runs of plain SAC."""
    return len(run.tasks) == 1 and run.method == REFERENCE_METHOD and run.complete


def find_references(
    run: RunResult,
    task: str,
    candidates: Iterable[RunResult],
    shipped: Callable[[], Iterable[RunResult]] = tuple,
) -> References:
    """Return which candidates `run` may be compared with on `task`, and why others not.

    If there is none, or all are longer than needed, the runs that `shipped` returns are tried too.
    """
    found, refused = _comparable(run, task, candidates)
    exact = found and found[0].steps_per_task == run.steps_per_task
    if not exact and run.source != continual_world_logs.SOURCE:
        ours, _ = _comparable(run, task, shipped())
        if ours and (not found or ours[0].steps_per_task < found[0].steps_per_task):
            return References(ours, refused, shipped=True)
    return References(found, [] if found else refused)


def _comparable(
    run: RunResult, task: str, candidates: Iterable[RunResult]
) -> tuple[list[RunResult], list[str]]:
    """Return the runs that are most alike, and sentences on those that are too different.

    Runs that were evaluated often enough come first, among these those with the fewest steps, and
    among these those with the same settings. All that are returned have the same number of steps.
    """
    found: dict[tuple[bool, int, bool], list[RunResult]] = {}
    refused: dict[str, None] = {}
    for other in candidates:
        if other.tasks != (task,) or other.source != run.source:
            continue
        unlike = mismatch(run, other)
        longer = other.steps_per_task > run.steps_per_task
        others = {name: values for name, values in unlike.items() if name != STEPS or not longer}
        rarely = _evaluations(run, other) < _enough(run)
        if any(name not in TOLERATED for name in others):
            refused[_refusal(other, others)] = None
        elif longer and rarely:
            refused[_refusal(other, unlike) + _too_few(run, other)] = None
        else:
            found.setdefault((rarely, other.steps_per_task, bool(others)), []).append(other)
    return found[min(found)] if found else [], list(refused)


def _evaluations(run: RunResult, reference: RunResult) -> int:
    """Return how many evaluations of a reference lie within the steps of one stage of the run."""
    steps = reference.steps
    return int(np.count_nonzero((steps > 0) & (steps <= run.steps_per_task)))


def _enough(run: RunResult) -> int:
    """Return how many evaluations of a reference are enough: no more than the run itself has."""
    return min(_FEWEST_EVALUATIONS, _evaluations(run, run))


def _too_few(run: RunResult, reference: RunResult) -> str:
    return (
        f"; only {_evaluations(run, reference)} of its evaluations lie in the first "
        f"{run.steps_per_task:,} steps, and {_enough(run)} are needed"
    )


def mismatch(run: RunResult, reference: RunResult) -> dict[str, tuple[Any, Any]]:
    """Return the settings in which a reference is unlike a run: what is needed, what is there.

    Any of them keeps the two from being compared, but for more steps and those in TOLERATED.
    """
    wanted, there = needed(run), needed(reference)
    wanted[STEPS], there[STEPS] = run.steps_per_task, reference.steps_per_task
    if run.source != continual_world_logs.SOURCE:
        there |= _own_changes(reference)
    return {
        name: (wanted.get(name, _default(name, reference)), there[name])
        for name in there
        if (name in wanted or name.startswith(METHOD))
        and comparable(wanted.get(name, _default(name, reference))) != comparable(there[name])
    }


def needed(run: RunResult) -> dict[str, Any]:
    """Return the settings that a single-task run must have to be compared with `run`."""
    if run.source == continual_world_logs.SOURCE:
        names = [name for name in run.settings if name in _OF_LOGS or name.startswith("world.")]
        return {name: run.settings[name] for name in names}
    found = {
        name: value
        for name, value in run.settings.items()
        if name.startswith(("learner.", "world.", "schedule."))
        and not name.startswith(_UNUSED)
        and (name not in NO_MATTER or name == EVALUATE_EVERY)
    }
    if AVERAGE in run.settings:
        found[AVERAGE] = run.settings[AVERAGE]
    if BATCH in run.settings:
        found[BATCH] = _batch_size(run)
    return found


def _batch_size(run: RunResult) -> Any:
    """Return the batch size of the reference: its preset's, unless the run departs from its own."""
    own = run.settings[BATCH]
    changed = comparable(own) != settings_of_preset(run.method, run.preset).get(BATCH)
    return own if changed else _preset(run.preset)[BATCH]


def _own_changes(reference: RunResult) -> dict[str, Any]:
    """Return the method's settings in which a reference is not plain SAC."""
    return {name: value for name, value in reference.changes.items() if name.startswith(METHOD)}


def _default(name: str, reference: RunResult) -> Any:
    return _preset(reference.preset).get(name)


def _preset(name: str) -> Mapping[str, Any]:
    return settings_of_preset(REFERENCE_METHOD, name)


def _refusal(reference: RunResult, unlike: Mapping[str, tuple[Any, Any]]) -> str:
    there = settings_in_words({name: values[1] for name, values in unlike.items()})
    wanted = settings_in_words({name: values[0] for name, values in unlike.items()})
    return f"{reference.tasks[0]} in {reference.folder} has {there} and not {wanted}"
