"""Tables of tasks learned alone."""

from collections import Counter

import numpy as np

from recall.analysis import bootstrap, metrics
from recall.analysis.collection import Collection
from recall.analysis.frames import Analysis
from recall.analysis.measures import RETURN
from recall.analysis.references import is_reference
from recall.report.tables.table import Cell, Row, Table
from recall.runs.wording import spanned


def _mean(values: np.ndarray, name: str) -> Cell:
    there = values[np.isfinite(values)]
    return Cell(bootstrap.mean(there, name).estimate, runs=len(there)) if len(there) else Cell()


def single_tables(analysis: Analysis) -> list[Table]:
    """Return the tables of how well tasks are learned on their own, or which returns they reach."""
    complete = analysis.collection.single.where(lambda run: run.complete)
    return [
        _single(analysis, runs, succeeds)
        for runs, succeeds in ((complete.with_success, True), (complete.without_success, False))
        if runs.runs
    ]


def _single(analysis: Analysis, single: Collection, succeeds: bool) -> Table:
    measure, labels = analysis.measure, single.labels
    field = measure.field if succeeds else RETURN
    headings = ("success at the end", "area under the curve")
    if not succeeds:
        headings = ("return at the end", "mean return of all evaluations")
    rows = []
    for task, part in single.by_sequence().items():
        cells = []
        for label in labels:
            curves = [run.curve(measure.mode, field) for run in part.by_label().get(label, [])]
            name = f"{label} on {task} alone"
            finals = [metrics.final_successes(curve, measure.window)[0] for curve in curves]
            areas = [metrics.areas(curve)[0] for curve in curves]
            known = np.isfinite(finals) & np.isfinite(areas)
            cells += [_mean(np.array(each)[known], name) for each in (finals, areas)]
        rows.append(Row(task, tuple(cells)))
    counts = Counter((run.label, run.sequence) for run in single.runs).values()
    steps = spanned(run.steps_per_task for run in single.runs)
    runs = f"{spanned(counts)} {'run' if max(counts) == 1 else 'runs'} of each task, {steps} steps."
    notes = [runs]
    if not succeeds:
        notes.append("These tasks do not report success, so returns stand instead.")
    elif any(map(is_reference, single.runs)):
        notes.append("Forward transfer compares with runs of fine-tuning of the same settings.")
    several = len(labels) > 1
    return Table(
        name="single-tasks" if succeeds else "single-returns",
        title=f"Tasks learned alone{'' if several else f' by {labels[0]}'}"
        f"{'' if succeeds else ', returns'}",
        corner="task",
        columns=tuple(
            f"{label}: {heading}" if several else heading
            for label in labels
            for heading in headings
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        decimals=2 if succeeds else 1,
        group="reference",
    )
