"""Build the tables of returns, for sequences whose tasks do not report success or never succeed."""

import dataclasses
from collections.abc import Sequence

from recall.analysis.collection import Collection
from recall.analysis.measures import RETURN
from recall.analysis.scores import ScoreBoard, Scores
from recall.analysis.together import learnt_together
from recall.report.tables.cells import budget_notes, cell, with_best_of_columns
from recall.report.tables.per_sequence import display_name
from recall.report.tables.table import Cell, Row, Table

_FEW = 3  # most tasks of a table on the terminal
_SILENT = "The tasks do not report success, so returns stand instead."


def return_tables(board: ScoreBoard) -> list[Table]:
    """Return a table for each sequence with a task that reports no success, or never succeeds."""
    shown = [
        name
        for name, part in board.collection.sequential.by_sequence().items()
        if _silent(part) or _never_succeeds(board, name)
    ]
    chosen = board.collection.where(lambda run: run.sequence in shown)
    measure = dataclasses.replace(board.measure, field=RETURN)
    returns = ScoreBoard(chosen, measure)
    return [
        _table(scores, _silent(board.collection.by_sequence()[name]))
        for name in returns.sequences
        if (scores := returns.among(returns.labels, [name]))
    ]


def _silent(part: Collection) -> list[str]:
    """Return the tasks that report no success."""
    return list(dict.fromkeys(task for run in part.runs for task in run.without_success))


def _never_succeeds(board: ScoreBoard, sequence: str) -> bool:
    scores = board.among(board.labels, [sequence])
    return bool(scores) and not any(each.trained.any() or each.final.any() for each in scores)


def _table(scores: Sequence[Scores], silent: Sequence[str]) -> Table:
    tasks = scores[0].tasks
    columns = [
        f"{number} {task}, {when}"
        for number, task in enumerate(tasks, start=1)
        for when in ("just learnt", "at the end")
    ]
    rows = [Row(each.label, tuple(_cells(each))) for each in scores]
    notes = budget_notes(scores)
    if set(silent) >= set(tasks):
        notes += (_SILENT,)
    elif silent:
        notes += (f"{', '.join(silent)}: success is not reported; other tables leave them out.",)
    return Table(
        name=f"{scores[0].sequence}-returns",
        title=f"Returns on {display_name(scores[0].sequence, tasks)}",
        corner="method",
        columns=tuple(columns),
        rows=with_best_of_columns(rows, [False] * len(columns)),
        notes=notes,
        decimals=1,
        group=scores[0].sequence,
        detail=len(tasks) > _FEW,
    )


def _cells(scores: Scores) -> list[Cell]:
    together = learnt_together(scores.method)
    runs = len(scores.runs)
    return [
        each
        for task in range(len(scores.tasks))
        for each in (
            cell(None if together else scores.when_learnt(task), runs=runs),
            cell(scores.at_end(task), runs=runs),
        )
    ]
