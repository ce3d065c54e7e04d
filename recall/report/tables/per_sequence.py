"""Build the tables of single sequences: metrics, success per task, who improves on whom."""

from collections.abc import Sequence

import numpy as np

from recall.report.tables.cells import (
    budget_notes,
    cell,
    metric_cell,
    with_best_of_columns,
)
from recall.report.tables.pairwise import pairwise_tables
from recall.report.tables.table import Cell, Row, Table
from recall.report.tables.transfer_notes import transfer_facts, transfer_note
from recall.results import bootstrap
from recall.results.families import has_own_table, is_pair
from recall.results.measures import LOWER_IS_BETTER, METRICS, TITLES, TRANSFER
from recall.results.metrics import final_successes
from recall.results.run_result import RunResult
from recall.results.scores import ScoreBoard, Scores

# Up to this many pairs are shown one by one; more are shown as means.
FEW_PAIRS = 4


def sequence_tables(board: ScoreBoard) -> list[Table]:
    """Return the metrics of each sequence outside the paper's tables, and the details of all."""
    pairs = [name for name in board.sequences if is_pair(name)]
    hidden = set(pairs) if len(pairs) > FEW_PAIRS else set()
    tables = []
    for sequence in board.sequences:
        if sequence in hidden:
            continue
        scores = board.among(board.labels, [sequence])
        if has_own_table(sequence):
            tables.append(_metrics(sequence, scores))
        tables.append(_tasks(sequence, scores))
        if any(each.forward_transfer for each in scores):
            tables.append(_transfers(sequence, scores))
        if len(scores) > 1:
            tables += pairwise_tables(sequence, scores)
    return tables


def display_name(sequence: str, tasks: Sequence[str]) -> str:
    """Return a sequence's name, followed by its tasks if the name does not list them."""
    return ", ".join(tasks) if "," in sequence else f"{sequence} ({', '.join(tasks)})"


def _metrics(sequence: str, scores: Sequence[Scores]) -> Table:
    metrics = [
        metric
        for metric in METRICS
        if metric != TRANSFER or any(each.forward_transfer for each in scores)
    ]
    rows = [
        Row(
            each.label,
            (
                *(metric_cell(each, metric) for metric in metrics),
                cell(each.interquartile_mean, runs=len(each.runs)),
            ),
        )
        for each in scores
    ]
    lower = [metric in LOWER_IS_BETTER for metric in metrics]
    return Table(
        name=sequence,
        title=f"Results on {display_name(sequence, scores[0].tasks)}",
        corner="method",
        columns=(*(TITLES[metric] for metric in metrics), "interquartile mean"),
        rows=with_best_of_columns(rows, [*lower, False]),
        notes=budget_notes(scores) + transfer_facts(scores),
        advice=transfer_note(scores),
        lower=(*lower, False),
        group=sequence,
    )


def _numbered(tasks: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{number} {task}" for number, task in enumerate(tasks, start=1))


def _tasks(sequence: str, scores: Sequence[Scores]) -> Table:
    tasks = scores[0].tasks
    rows = [
        Row(
            each.label,
            tuple(cell(each.at_end(task), runs=len(each.runs)) for task in range(len(tasks))),
        )
        for each in scores
    ]
    return Table(
        name=f"{sequence}-tasks",
        title=f"Success on each task at the end of {display_name(sequence, tasks)}",
        corner="method",
        columns=_numbered(tasks),
        rows=with_best_of_columns(rows, [False] * len(tasks)),
        notes=budget_notes(scores),
        group=sequence,
        detail=True,
    )


def _transfers(sequence: str, scores: Sequence[Scores]) -> Table:
    tasks = scores[0].tasks
    rows = [
        Row(each.label, tuple(Cell(estimate, runs=len(each.runs)) for estimate in transfers))
        for each in scores
        if (transfers := each.forward_transfer_by_task) is not None
    ]
    return Table(
        name=f"{sequence}-transfer",
        title=f"Forward transfer of each task of {display_name(sequence, tasks)}",
        corner="method",
        columns=_numbered(tasks),
        rows=with_best_of_columns(rows, [False] * len(tasks)),
        notes=transfer_facts(scores),
        advice=transfer_note(scores),
        group=sequence,
        detail=True,
    )


def single_table(board: ScoreBoard) -> list[Table]:
    """Return the table of how well tasks are learnt on their own."""
    single = board.collection.with_success.single.where(lambda run: run.complete)
    labels = single.labels
    if not single.runs:
        return []
    several = len(labels) > 1
    columns = [
        f"{label}: {what}" if several else what
        for label in labels
        for what in ("success at the end", "area under the curve")
    ]
    rows = []
    for task, part in single.by_sequence().items():
        runs_of = part.by_label()
        cells = [pair for label in labels for pair in _alone(board, task, runs_of.get(label, []))]
        rows.append(Row(task, tuple(cells)))
    return [
        Table(
            name="single-tasks",
            title="Tasks learnt alone",
            corner="task",
            columns=tuple(columns),
            rows=tuple(rows),
            notes=("Runs of fine-tuning here are what forward transfer compares with.",),
            group="reference",
        )
    ]


def _alone(board: ScoreBoard, task: str, runs: Sequence[RunResult]) -> tuple[Cell, Cell]:
    measure = board.measure
    finals = np.array(
        [final_successes(run.curve(measure.mode, measure.field), measure.window)[0] for run in runs]
    )
    areas = np.array([board.areas_of(run)[0] for run in runs])
    good = np.isfinite(finals) & np.isfinite(areas) if len(runs) else np.zeros(0, bool)
    if not good.any():
        return Cell(), Cell()
    name = f"{runs[0].label} on {task} alone"
    return (
        cell(bootstrap.mean(finals[good], name), runs=int(good.sum())),
        cell(bootstrap.mean(areas[good], name), runs=int(good.sum())),
    )
