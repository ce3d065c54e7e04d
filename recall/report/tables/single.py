"""Tables of tasks learned alone."""

import numpy as np

from recall.analysis import bootstrap, metrics
from recall.analysis.collection import Collection
from recall.analysis.frames import Analysis
from recall.analysis.metrics import RETURN
from recall.analysis.references import is_reference
from recall.report.tables.table import Cell, Row, Table
from recall.runs.wording import spanned


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
    headings = ("return at the end", "mean return of all evaluations")
    notes, field = ["These tasks do not report success, so returns stand instead."], RETURN
    if succeeds:
        headings, field = ("success at the end", "area under the curve"), measure.field
        notes = ["Forward transfer compares with runs of fine-tuning of the same settings."]
        notes = notes if any(map(is_reference, single.runs)) else []
    several = len(labels) > 1
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
        return [Cell(bootstrap.mean(each, name).estimate, runs=len(each)) for each in both]

    by_task = single.by_sequence()
    counts = [len(runs) for part in by_task.values() for runs in part.by_label().values()]
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
        group="reference",
    )
