"""Tables of runs by themselves: unfinished ones, and tasks learned alone."""

from collections import Counter

import numpy as np

from recall.analysis import bootstrap, metrics
from recall.analysis.collection import Collection
from recall.analysis.families import display_name
from recall.analysis.frames import Analysis
from recall.analysis.labels import grouped
from recall.analysis.measures import RETURN
from recall.analysis.references import is_reference
from recall.analysis.run_result import is_multi_task
from recall.report.tables.table import Cell, Row, Table
from recall.runs.wording import counted, spanned

_MOST = 4  # provisional tables on the terminal


def provisional_tables(analysis: Analysis) -> list[Table]:
    """Return a table for each label and sequence with runs that train or were stopped.

    They show the success in each task when it was just learned and at the last evaluation.
    """
    measure = analysis.measure
    going = analysis.collection.where(lambda run: not run.finished and run.failed_at is None)
    tables: list[Table] = []
    for runs in grouped(going.runs, lambda run: (run.sequence, run.label)).values():
        first = runs[0]
        field, what = (measure.field, "success") if first.reports_success else (RETURN, "return")
        curves = [run.curve(measure.mode, field) for run in runs]
        together = is_multi_task(first.method)
        learned = np.array([metrics.trained_successes(curve, measure.window) for curve in curves])
        now = np.array([metrics.latest_successes(curve, measure.window) for curve in curves])
        reached = max(int(run.steps[-1]) for run in runs)
        stages = len(first.tasks) if together else -(-reached // first.steps_per_task)
        rows = []
        for task, name in enumerate(first.tasks[:stages]):
            shown = [now] if together else [learned, now, learned - now]
            cells = (_mean(values[:, task], f"{first.label}, provisional") for values in shown)
            rows.append(Row(f"{task + 1} {name}", tuple(cells)))
        table = Table(
            name=f"provisional-{first.label}-{first.sequence}",
            title=f"Provisional: {first.label} on {display_name(first.sequence, first.tasks)}",
            corner="task",
            columns=("now",) if together else (f"{what} when just learned", "now", "lost"),
            rows=tuple(rows),
            notes=(
                f"{counted(len(runs), 'run')}, at step "
                f"{spanned(int(run.steps[-1]) for run in runs)} of {first.total_steps:,}. These "
                "numbers will change.",
            ),
            decimals=2 if first.reports_success else 1,
            group="provisional",
            detail=len(tables) >= _MOST,
        )
        tables.append(table)
    return tables


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
