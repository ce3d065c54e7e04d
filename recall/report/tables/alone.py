"""Build the tables of tasks learnt alone: success, or returns where success is not reported."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from recall.analysis import bootstrap, metrics
from recall.analysis.collection import Collection
from recall.analysis.measures import RETURN
from recall.analysis.references import is_reference
from recall.analysis.run_result import RunResult
from recall.analysis.scores import ScoreBoard
from recall.report.tables.cells import cell
from recall.report.tables.table import Cell, Row, Table
from recall.runs.wording import spanned

_SUCCESS = ("success at the end", "area under the curve")
_RETURNS = ("return at the end", "mean return of all evaluations")
_REFERENCE = (
    "Forward transfer compares with the runs of fine-tuning here that have the same settings as "
    "the runs of a sequence."
)


def single_tables(board: ScoreBoard) -> list[Table]:
    """Return the tables of how well tasks are learnt on their own."""
    complete = board.collection.single.where(lambda run: run.complete)
    with_success, without = complete.with_success, complete.without_success
    tables = []
    if with_success.runs:
        notes = (_REFERENCE,) if any(map(is_reference, with_success.runs)) else ()
        tables.append(_table(board, with_success, "single-tasks", "", _SUCCESS, notes))
    if without.runs:
        notes = ("These tasks do not report success, so returns stand instead.",)
        tables.append(_table(board, without, "single-returns", ", returns", _RETURNS, notes))
    return tables


def _table(
    board: ScoreBoard,
    single: Collection,
    name: str,
    what: str,
    headings: tuple[str, str],
    notes: tuple[str, ...],
) -> Table:
    labels = single.labels
    several = len(labels) > 1
    field = board.measure.field if headings == _SUCCESS else RETURN
    rows = []
    for task, part in single.by_sequence().items():
        runs_of = part.by_label()
        cells = [
            each for label in labels for each in _alone(board, field, task, runs_of.get(label, []))
        ]
        rows.append(Row(task, tuple(cells)))
    return Table(
        name=name,
        title=f"Tasks learnt alone{what}"
        if several
        else f"Tasks learnt alone by {labels[0]}{what}",
        corner="task",
        columns=tuple(
            f"{label}: {heading}" if several else heading
            for label in labels
            for heading in headings
        ),
        rows=tuple(rows),
        notes=(_budget(single.runs), *notes),
        decimals=2 if field != RETURN else 1,
        group="reference",
    )


def _budget(runs: Sequence[RunResult]) -> str:
    """Return a note on how many runs and steps the numbers are based on."""
    counts = Counter((run.label, run.sequence) for run in runs).values()
    steps = spanned(run.steps_per_task for run in runs)
    return f"{spanned(counts)} {'run' if max(counts) == 1 else 'runs'} of each task, {steps} steps."


def _alone(
    board: ScoreBoard, field: str, task: str, runs: Sequence[RunResult]
) -> tuple[Cell, Cell]:
    """Return the mean at the end of training and the mean over all of it."""
    measure = board.measure
    curves = [run.curve(measure.mode, field) for run in runs]
    finals = np.array([metrics.final_successes(curve, measure.window)[0] for curve in curves])
    areas = np.array([metrics.areas(curve)[0] for curve in curves])
    good = np.isfinite(finals) & np.isfinite(areas) if len(runs) else np.zeros(0, bool)
    if not good.any():
        return Cell(), Cell()
    name = f"{runs[0].label} on {task} alone"
    return (
        cell(bootstrap.mean(finals[good], name), runs=int(good.sum())),
        cell(bootstrap.mean(areas[good], name), runs=int(good.sum())),
    )
