"""Build the tables that compare every two methods: who improves on whom, and by how much."""

from collections.abc import Callable, Sequence

from recall.report.tables.cells import cell
from recall.report.tables.table import Cell, Row, Table
from recall.results.bootstrap import probability_of_improvement
from recall.results.differences import paired_difference, shared_seeds
from recall.results.measures import PERFORMANCE
from recall.results.scores import Scores

OF_INTERVALS = (
    "If an interval does not contain 0, chance is an unlikely reason for the difference; intervals "
    "of fewer than five seeds are too narrow to rely on."
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
    return cell(paired_difference([(mine, other)], PERFORMANCE), runs=shared_seeds(mine, other))
