"""Build the tables that compare every two methods: who improves on whom, and by how much."""

from collections.abc import Callable, Sequence

from recall.analysis.bootstrap import probability_of_improvement
from recall.analysis.families import family_title
from recall.analysis.measures import METRICS, PERFORMANCE, TITLES
from recall.analysis.scores import ScoreBoard, Scores
from recall.report.tables.cells import cell, difference_cell
from recall.report.tables.family_scores import FamilyScores, families
from recall.report.tables.table import Cell, Row, Table

OF_INTERVALS = "The intervals of differences are Student's t intervals over seeds."


def family_differences(board: ScoreBoard) -> list[Table]:
    """Return by how much a method is ahead of another over the sequences of CW3 or CW6."""
    return [
        table
        for scores in families(board)
        for metric in METRICS
        if (table := _over_family(scores, metric)) is not None
    ]


def _over_family(found: FamilyScores, metric: str) -> Table | None:
    """Return the table of one metric; None if a single method or none has it."""
    there = {
        label: scores
        for label, scores in found.by_label.items()
        if all(each.metric(metric) is not None for each in scores)
    }
    if len(there) < 2:
        return None
    count = len(next(iter(there.values())))
    rows = []
    for mine in there:
        cells = [
            Cell(text="")
            if other == mine
            else difference_cell(list(zip(there[mine], there[other], strict=True)), metric)
            for other in there
        ]
        rows.append(Row(mine, tuple(cells)))
    return Table(
        name=f"{found.family}-{metric}-differences",
        title=f"{family_title(found.family)}: {TITLES[metric]} of the row minus that of the column",
        corner="method",
        columns=tuple(there),
        rows=tuple(rows),
        notes=(
            f"Means over {count} sequences and the seeds that both have. {OF_INTERVALS}",
            *found.notes,
        ),
        group=found.family,
        detail=metric != PERFORMANCE,
    )


def pairwise_tables(sequence: str, scores: Sequence[Scores]) -> list[Table]:
    """Return how often a method does better than another, and by how much, seed by seed."""
    return [
        _table(
            f"{sequence}-improvement",
            f"How often a run of the row does better than one of the column on {sequence}",
            scores,
            _chance,
            "By average performance at the end; ties count half.",
        ),
        _table(
            f"{sequence}-differences",
            f"Average performance of the row minus that of the column, seed by seed, on {sequence}",
            scores,
            _difference,
            f"Means over the seeds that both have. {OF_INTERVALS}",
        ),
    ]


def _table(
    name: str,
    title: str,
    scores: Sequence[Scores],
    compare: Callable[[Scores, Scores], Cell],
    note: str,
) -> Table:
    rows = []
    for mine in scores:
        cells = [Cell(text="") if other is mine else compare(mine, other) for other in scores]
        rows.append(Row(mine.label, tuple(cells)))
    return Table(
        name=name,
        title=title,
        corner="method",
        columns=tuple(each.label for each in scores),
        rows=tuple(rows),
        notes=(note,),
        group=scores[0].sequence,
        detail=True,
    )


def _chance(mine: Scores, other: Scores) -> Cell:
    ours, theirs = mine.final.mean(axis=1), other.final.mean(axis=1)
    chance = probability_of_improvement(ours, theirs, (mine.name, other.name))
    return cell(chance, runs=len(mine.runs))


def _difference(mine: Scores, other: Scores) -> Cell:
    return difference_cell([(mine, other)], PERFORMANCE)
