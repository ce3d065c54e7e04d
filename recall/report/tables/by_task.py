"""Build the tables that say which tasks of CW3 or CW6 are learnt and kept, and what transfers."""

from collections.abc import Callable, Iterator

from recall.analysis.bootstrap import Sampled, mean_of
from recall.analysis.families import family_title
from recall.analysis.scores import ScoreBoard, Scores
from recall.analysis.together import learnt_together
from recall.report.tables.beginning_notes import beginning_notes
from recall.report.tables.cells import budget_notes, cell, with_best_bold, with_best_of_columns
from recall.report.tables.family_scores import FamilyScores, families
from recall.report.tables.table import Cell, Row, Table
from recall.report.tables.transfer_notes import transfer_facts

# A task of a sequence: its scores and its position.
_Place = tuple[Scores, int]


def task_tables(board: ScoreBoard) -> list[Table]:
    """Return success by task when just learnt and at the end, and transfer by place."""
    tables = []
    for found in families(board):
        if not all(learnt_together(group[0].method) for group in found.by_label.values()):
            tables.append(_by_task(found, "learnt", "when just learnt", Scores.when_learnt))
        tables.append(_by_task(found, "end", "at the end", Scores.at_end))
        if table := _by_place(found):
            tables.append(table)
    return tables


def _by_task(
    found: FamilyScores, name: str, when: str, measure: Callable[[Scores, int], Sampled]
) -> Table:
    by_label = found.by_label
    if measure is Scores.when_learnt:
        by_label = {
            label: group
            for label, group in by_label.items()
            if not learnt_together(group[0].method)
        }
    scores = [each for group in by_label.values() for each in group]
    tasks = sorted({task for each in scores for task in each.tasks})
    rows = []
    for task in (*tasks, "all"):
        cells = [
            _mean([measure(*place) for place in _places(group, task)], group)
            for group in by_label.values()
        ]
        count = len(list(_places(next(iter(by_label.values())), task)))
        rows.append(Row(f"{task} ({count})", with_best_bold(cells)))
    return Table(
        name=f"{found.family}-tasks-{name}",
        title=f"{family_title(found.family)}: success on each task {when}",
        corner="task (places)",
        columns=tuple(by_label),
        rows=tuple(rows),
        notes=(
            "Means over the places of a task in the sequences.",
            *found.notes,
            *budget_notes(scores),
            *beginning_notes(scores),
        ),
        group=found.family,
        detail=True,
    )


def _places(group: list[Scores], task: str) -> Iterator[_Place]:
    """Yield the places of a task in the sequences, or all places."""
    for scores in group:
        for position, name in enumerate(scores.tasks):
            if task in (name, "all"):
                yield scores, position


def _by_place(found: FamilyScores) -> Table | None:
    """Return forward transfer by place; None if no label has it on every sequence."""
    by_label = {
        label: group
        for label, group in found.by_label.items()
        if all(each.forward_transfer is not None for each in group)
    }
    if not by_label:
        return None
    rows = []
    for label, group in by_label.items():
        first = [each.transfer_of(0) for each in group]
        later = [each.transfer_of(task) for each in group for task in range(1, len(each.tasks))]
        rows.append(Row(label, (_mean(first, group), _mean(later, group))))
    scores = [each for group in by_label.values() for each in group]
    return Table(
        name=f"{found.family}-transfer-by-place",
        title=f"{family_title(found.family)}: forward transfer on first and on later tasks",
        corner="method",
        columns=("first tasks", "later tasks"),
        rows=with_best_of_columns(rows, [False, False]),
        notes=(
            "First tasks have nothing to profit from: their transfer is that of the learner.",
            *found.notes,
            *transfer_facts(scores),
        ),
        group=found.family,
        detail=True,
    )


def _mean(parts: list[Sampled | None] | list[Sampled], group: list[Scores]) -> Cell:
    there = [part for part in parts if part is not None]
    runs = sum(len(each.runs) for each in group)
    return cell(mean_of(there), runs=runs) if there else Cell()
