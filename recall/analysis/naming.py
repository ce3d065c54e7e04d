"""Labels of all runs that are gathered together, and their order in tables and figures."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from recall.analysis import continual_world_logs
from recall.analysis.families import table_of
from recall.analysis.labels import (
    Variant,
    differing,
    label_of,
    order_of,
    settings_in_words,
    variants,
)
from recall.analysis.plugin_code import told_apart
from recall.analysis.references import STEPS
from recall.analysis.run_result import RunResult

_STEPS = (STEPS, "log.steps_per_task")
IMPORTED = "imported"
"""The variant of runs that were imported from other code."""


def labelled(runs: Sequence[RunResult]) -> list[RunResult]:
    """Return the runs with labels, in the order of tables: method, variant, sequence, seed.

    Settings of the schedule are compared among runs that are shown together: those of one family.
    """
    usual = {table: _usual_steps(group) for table, group in grouped(runs, _table_of).items()}
    named = []
    for (method, source, _), group in grouped(
        runs, lambda run: (run.method, run.source, _table_of(run))
    ).items():
        imported = source == continual_world_logs.SOURCE
        settings = [run.settings for run in group]
        found = differing(settings) if imported else variants(method, settings)
        for run, variant in zip(group, found, strict=True):
            named.append(
                _named(run, variant, imported, run.steps_per_task != usual[_table_of(run)])
            )
    sequences = list(dict.fromkeys(sorted((run.sequence for run in runs), key=_natural)))
    return sorted(
        told_apart(named),
        key=lambda run: (
            order_of(run.method, run.label),
            sequences.index(run.sequence),
            run.seed,
        ),
    )


def _table_of(run: RunResult) -> str:
    return table_of(run.sequence, len(run.tasks))


def _usual_steps(runs: Sequence[RunResult]) -> int | None:
    """Return the steps per task of most runs of a table, or None if there is no such number."""
    counts = Counter(run.steps_per_task for run in runs).most_common(2)
    return None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


def _named(run: RunResult, variant: Variant, imported: bool, with_steps: bool) -> RunResult:
    changes = {name: value for name, value in variant.changes.items() if name not in _STEPS}
    if with_steps:
        changes[STEPS] = run.steps_per_task
    variant = Variant(variant.preset, changes)
    words = [IMPORTED] * imported + [settings_in_words(variant.changes)] * bool(variant.changes)
    in_label = ", ".join(words)
    return dataclasses.replace(
        run,
        label=label_of(run.method, in_label, variant.preset),
        variant=in_label,
        changes=variant.changes,
        preset=variant.preset,
    )


def _natural(name: str) -> tuple[Any, ...]:
    return order_of("", name)


def grouped(runs: Iterable[RunResult], key: Callable[[RunResult], Any]) -> dict[Any, list[Any]]:
    """Return the runs of each key, in the order of first appearance."""
    groups: dict[Any, list[RunResult]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups
