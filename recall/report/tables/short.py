"""Tables of pairs of tasks, and of tasks learned alone."""

from dataclasses import replace

import numpy as np
import pandas as pd

from recall.analysis import estimates, metrics
from recall.analysis.collection import Collection
from recall.analysis.estimates import Estimate, round_for_comparison, shared_sequences
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import PAIRS, main_labels
from recall.analysis.metrics import RETURN
from recall.analysis.references import is_reference
from recall.report import paper
from recall.report.tables.pivot import (
    Cell,
    Key,
    Row,
    Table,
    by_label,
    label_keys,
    papers_row,
    pivot_table,
)
from recall.runs.wording import spanned

_LEAST = 2  # number of pairs needed for a mean
_MEANS = {
    "first_task": Key("first task", {"position": 0}, "final"),
    "second_task": Key("second task", {"position": 1}, "final"),
    "first_task_forgetting": Key("first task's forgetting", {"position": 0}, "forgotten"),
}
"""The means by the names that they have in paper.json."""
_COUNTS = {
    "second_tasks_with_zero_success": "second task never succeeds",
    "second_tasks_below_half": "second task succeeds in less than half",
    "first_tasks_dropping_over_0.1": "first task loses more than 0.1",
}
"""Headings of the counts by the names that they have in paper.json."""


def pair_tables(analysis: Analysis) -> list[Table]:
    """Return means and counts over the pairs of tasks that all methods have.

    Labels that lack a shared pair, such as variants, are left out.
    """
    scores = select(analysis.scores, family=PAIRS)
    groups = by_label(scores)
    main = main_labels(list_of(scores, "run"))
    shared = shared_sequences(groups[label] for label in main)
    if len(shared) < _LEAST:
        return []
    shown = {
        label: select(rows, sequence=shared)
        for label, rows in groups.items()
        if set(shared) <= set(rows.sequence)
    }
    notes = [f"Over {len(shared)} pairs that all methods have; the paper: 100."]
    if left_out := [label for label in groups if label not in shown]:
        notes.append(f"Left out, as run on other pairs: {', '.join(left_out)}.")
    names = {key.heading: name for name, key in _MEANS.items()}
    rows = label_keys(analysis, shown)
    means = pivot_table(
        analysis,
        pd.concat(shown.values()),
        rows,
        list(_MEANS.values()),
        published=lambda row, column: paper.number("pairs", row.method, names[column.heading]),
        notes=notes,
        name="pairs",
        title="Pairs of tasks: means over pairs",
    )
    counts = replace(
        means,
        name="pairs-counts",
        title="Pairs of tasks: how many",
        columns=tuple(_COUNTS.values()),
        rows=tuple(row for key in rows for row in _counts(key, shown[key.heading])),
        decimals=0,
    )
    return [means, counts]


def _counts(key: Key, rows: pd.DataFrame) -> list[Row]:
    """Return our row of counts and the paper's."""
    means = rows.groupby(["sequence", "position"])[["final", "forgotten"]].mean()
    seconds = round_for_comparison(means["final"].xs(1, level="position"))
    lost = round_for_comparison(means["forgotten"].xs(0, level="position"))
    ours = [Cell(Estimate(float(np.sum(found)))) for found in (seconds == 0.0, seconds < 0.5)]
    ours.append(Cell() if np.isnan(lost).all() else Cell(Estimate(float(np.sum(lost > 0.1)))))
    theirs = [paper.number("pairs", key.method, name) for name in _COUNTS]
    return [Row(key.heading, tuple(ours)), *papers_row(key.heading, theirs)]


def single_tables(analysis: Analysis) -> list[Table]:
    """Return the tables of how well tasks are learned on their own, or which returns they reach."""
    complete = analysis.collection.single.where(lambda run: run.complete)
    both = ((complete.with_success, True), (complete.without_success, False))
    return [_single(analysis, part, succeeds) for part, succeeds in both if part.runs]


def _single(analysis: Analysis, single: Collection, succeeds: bool) -> Table:
    measure, labels = analysis.measure, single.labels
    headings = ("return at the end", "mean return of all evaluations")
    notes, field = ["These tasks do not report success, so returns stand instead."], RETURN
    if succeeds:
        headings, field = ("success at the end", "area under the curve"), measure.field
        notes = ["Forward transfer compares with runs of fine-tuning of the same settings."]
        notes = notes if any(map(is_reference, single.runs)) else []
    several = len(labels) > 1
    columns = [
        f"{label}: {heading}" if several else heading for label in labels for heading in headings
    ]
    title = f"Tasks learned alone{'' if several else f' by {labels[0]}'}"
    steps = spanned(run.steps_per_task for run in single.runs)

    def cells(part: Collection, label: str) -> list[Cell]:
        runs = part.by_label().get(label, [])
        curves = [run.curve(measure.mode, field) for run in runs]
        ends = [metrics.final_successes(curve, measure.window)[0] for curve in curves]
        both = np.array([ends, [metrics.area(curve, 0) for curve in curves]])
        both = both[:, np.isfinite(both).all(axis=0)]
        if not both.size:
            return [Cell(), Cell()]
        name = f"{label} on {part.runs[0].sequence} alone"
        return [Cell(estimates.mean(each, name).estimate, runs=len(each)) for each in both]

    by_task = single.by_sequence()
    counts = [len(runs) for part in by_task.values() for runs in part.by_label().values()]
    return Table(
        name="single-tasks" if succeeds else "single-returns",
        title=title if succeeds else f"{title}, returns",
        corner="task",
        columns=tuple(columns),
        rows=tuple(
            Row(task, tuple(cell for label in labels for cell in cells(part, label)))
            for task, part in by_task.items()
        ),
        notes=(
            f"{spanned(counts)} {'run' if max(counts) == 1 else 'runs'} of each task, {steps} "
            "steps.",
            *notes,
        ),
        decimals=2 if succeeds else 1,
    )
