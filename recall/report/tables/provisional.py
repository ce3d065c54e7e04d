"""Build provisional tables of fleets that are still training or were stopped.

Each task has its success when it was just learnt and its success now, at the last evaluation.
"""

from collections.abc import Sequence

import numpy as np

from recall.analysis import bootstrap, metrics
from recall.analysis.measures import RETURN
from recall.analysis.run_result import RunResult
from recall.analysis.scores import ScoreBoard
from recall.analysis.together import learnt_together
from recall.report.tables.cells import cell
from recall.report.tables.per_sequence import display_name
from recall.report.tables.table import Cell, Row, Table
from recall.runs.wording import counted, spanned

Array = np.ndarray
GROUP = "provisional"
_MOST = 4  # tables on the terminal


def provisional_tables(board: ScoreBoard) -> list[Table]:
    """Return a table for each label and sequence that has unfinished runs."""
    going = board.collection.where(lambda run: not run.finished and run.failed_at is None)
    found = [
        (label, runs)
        for part in going.by_sequence().values()
        for label, runs in part.by_label().items()
    ]
    return [
        _table(board, label, runs, detail=number >= _MOST)
        for number, (label, runs) in enumerate(found)
    ]


def _table(board: ScoreBoard, label: str, runs: Sequence[RunResult], detail: bool) -> Table:
    first = runs[0]
    field = board.measure.field if first.reports_success else RETURN
    curves = [run.curve(board.measure.mode, field) for run in runs]
    together = learnt_together(first.method)
    window = board.measure.window
    learnt = np.array([metrics.trained_successes(curve, window) for curve in curves])
    now = np.array([metrics.latest_successes(curve, window) for curve in curves])
    reached = max(int(run.steps[-1]) for run in runs)
    stages = len(first.tasks) if together else -(-reached // first.steps_per_task)
    rows = []
    for task in range(min(stages, len(first.tasks))):
        shown = [now[:, task], learnt[:, task] - now[:, task]]
        shown = shown[:1] if together else [learnt[:, task], *shown]
        name = f"{task + 1} {first.tasks[task]}"
        rows.append(Row(name, tuple(_mean(values, label) for values in shown)))
    what = "success" if first.reports_success else "return"
    return Table(
        name=f"{GROUP}-{label}-{first.sequence}",
        title=f"Provisional: {label} on {display_name(first.sequence, first.tasks)}",
        corner="task",
        columns=("now",) if together else (f"{what} when just learnt", "now", "lost"),
        rows=tuple(rows),
        notes=(
            f"{counted(len(runs), 'run')}, at step {spanned(int(run.steps[-1]) for run in runs)} "
            f"of {first.total_steps:,}. These numbers will change.",
        ),
        lower=() if together else (False, False, True),
        decimals=2 if first.reports_success else 1,
        group=GROUP,
        detail=detail,
    )


def _mean(values: Array, label: str) -> Cell:
    there = values[np.isfinite(values)]
    if not len(there):
        return Cell()
    return cell(bootstrap.mean(there, f"{label}, provisional"), runs=len(there))
