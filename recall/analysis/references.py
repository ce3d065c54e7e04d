"""Single-task runs of plain SAC that forward transfer compares with, and why others are refused.

A reference may be longer than the run: plain SAC does not know how long it will train. It may
differ in the settings of TOLERATED if there is no other.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from recall.analysis import continual_world_logs
from recall.analysis.departures import (
    AVERAGE,
    BOUNDARIES,
    COPIES,
    METHOD,
    NO_MATTER,
    OLD_TASKS,
    PRECISION,
    STEPS,
    comparable,
    departures,
    settings_of_preset,
)
from recall.analysis.labels import settings_in_words
from recall.analysis.run_result import RunResult

REFERENCE_METHOD = "fine_tuning"
BATCH = f"{METHOD}batch_size"
EVALUATE_EVERY = "schedule.evaluate_every"
TOLERATED = {
    EVALUATE_EVERY, PRECISION, "schedule.policy_lag", "schedule.environments", AVERAGE
}  # fmt: skip
_FEWEST_EVALUATIONS = 4  # of a longer reference, unless the run itself has fewer
# Settings that plain SAC on a single task does not use; the last two are of older records.
_UNUSED = (
    "learner.popart.", BOUNDARIES, COPIES, OLD_TASKS,
    "schedule.scoring_episodes", "schedule.random_steps_after_copy",
)  # fmt: skip
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
    """Return the shortest runs that fit, of these the most alike, and sentences on the others."""
    found: dict[tuple[int, bool], list[RunResult]] = {}
    refused: dict[str, None] = {}
    for other in candidates:
        if other.tasks != (task,) or other.source != run.source:
            continue
        unlike = mismatch(run, other)
        # The value of the first evaluation is taken for all steps before it.
        own, there = (
            int(np.count_nonzero((each.steps > 0) & (each.steps <= run.steps_per_task)))
            for each in (run, other)
        )
        if other.steps_per_task > run.steps_per_task and there >= min(_FEWEST_EVALUATIONS, own):
            del unlike[STEPS]
        if unlike.keys() <= TOLERATED:
            found.setdefault((other.steps_per_task, bool(unlike)), []).append(other)
        else:
            refused[f"{task} in {other.folder} has {in_words(unlike)}"] = None
    return found[min(found)] if found else [], list(refused)


def mismatch(run: RunResult, reference: RunResult) -> dict[str, tuple[Any, Any]]:
    """Return the settings in which a reference is unlike a run: what is needed, what is there.

    Any of them keeps the two from being compared, but for more steps and those in TOLERATED.
    """
    wanted, there = needed(run), needed(reference)
    wanted[STEPS], there[STEPS] = run.steps_per_task, reference.steps_per_task
    if run.source != continual_world_logs.SOURCE:
        own = departures(reference.method, reference.settings, reference.preset)
        there |= {
            name: value
            for name, value in own.items()
            if name.startswith(METHOD) and not name.startswith(_UNUSED)
        }
    wanted = {**settings_of_preset(REFERENCE_METHOD, reference.preset), **wanted}
    return {
        name: (wanted.get(name), value)
        for name, value in there.items()
        if (name in wanted or name.startswith(METHOD))
        and comparable(wanted.get(name)) != comparable(value)
    }


def in_words(unlike: Mapping[str, tuple[Any, Any]]) -> str:
    """Return what `mismatch` found: `discount 0.9 and not discount 0.99`."""
    wanted, there = (
        settings_in_words({name: values[side] for name, values in unlike.items()})
        for side in (0, 1)
    )
    return f"{there} and not {wanted}"


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
        # That of the reference's preset, unless the run departs from the one of its own.
        own = settings_of_preset(run.method, run.preset).get(BATCH)
        if comparable(run.settings[BATCH]) == own:
            found[BATCH] = settings_of_preset(REFERENCE_METHOD, run.preset)[BATCH]
        else:
            found[BATCH] = run.settings[BATCH]
    return found
