"""Build the tables of single sequences: metrics, success per task, who improves on whom."""

from collections.abc import Sequence

from recall.analysis.families import has_own_table, is_pair
from recall.analysis.measures import LOWER_IS_BETTER, TITLES
from recall.analysis.over_sequences import metrics_of
from recall.analysis.scores import ScoreBoard, Scores
from recall.report.tables.cells import (
    budget_notes,
    cell,
    metric_cell,
    with_best_of_columns,
)
from recall.report.tables.pairwise import pairwise_tables
from recall.report.tables.table import Cell, Row, Table
from recall.report.tables.transfer_notes import transfer_facts, transfer_note

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
    metrics = metrics_of(scores)
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
        title=f"Results on {display_name(sequence, scores[0].sequence_tasks)}",
        corner="method",
        columns=(*(TITLES[metric] for metric in metrics), "interquartile mean"),
        rows=with_best_of_columns(rows, [*lower, False]),
        notes=budget_notes(scores) + transfer_facts(scores),
        advice=transfer_note(scores),
        lower=(*lower, False),
        group=sequence,
    )


def _numbered(scores: Scores) -> tuple[str, ...]:
    pairs = zip(scores.positions, scores.tasks, strict=True)
    return tuple(f"{position + 1} {task}" for position, task in pairs)


def _tasks(sequence: str, scores: Sequence[Scores]) -> Table:
    tasks, where = scores[0].tasks, display_name(sequence, scores[0].sequence_tasks)
    rows = [
        Row(
            each.label,
            tuple(cell(each.at_end(task), runs=len(each.runs)) for task in range(len(tasks))),
        )
        for each in scores
    ]
    return Table(
        name=f"{sequence}-tasks",
        title=f"Success on each task at the end of {where}",
        corner="method",
        columns=_numbered(scores[0]),
        rows=with_best_of_columns(rows, [False] * len(tasks)),
        notes=budget_notes(scores),
        group=sequence,
        detail=True,
    )


def _transfers(sequence: str, scores: Sequence[Scores]) -> Table:
    tasks, where = scores[0].tasks, display_name(sequence, scores[0].sequence_tasks)
    rows = [
        Row(each.label, tuple(Cell(estimate, runs=len(each.runs)) for estimate in transfers))
        for each in scores
        if (transfers := each.forward_transfer_by_task) is not None
    ]
    return Table(
        name=f"{sequence}-transfer",
        title=f"Forward transfer of each task of {where}",
        corner="method",
        columns=_numbered(scores[0]),
        rows=with_best_of_columns(rows, [False] * len(tasks)),
        notes=transfer_facts(scores),
        advice=transfer_note(scores),
        group=sequence,
        detail=True,
    )
