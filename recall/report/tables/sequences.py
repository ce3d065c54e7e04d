"""Tables of single sequences: metrics, success per task, transfer, differences and returns."""

import dataclasses
from collections.abc import Iterator, Sequence

import pandas as pd

from recall.analysis.collection import Collection
from recall.analysis.estimates import improvement
from recall.analysis.families import TRIPLETS, display_name, is_pair
from recall.analysis.frames import Analysis, analyse, list_of, select
from recall.analysis.measures import PERFORMANCE, RETURN
from recall.report import paper
from recall.report.tables.families import OF_INTERVALS
from recall.report.tables.pivot import (
    INTERQUARTILE,
    Key,
    difference_cell,
    groups_of,
    label_keys,
    metric_keys,
    pivot_table,
    square,
)
from recall.report.tables.table import Cell, Table

FEW_PAIRS = 4
"""Up to this many pairs are shown one by one; more are shown as means."""
_FEW_TASKS = 3  # of a table of returns on the terminal


def sequence_tables(analysis: Analysis) -> list[Table]:
    """Return the tables of each sequence; metrics only if no table of a family has them."""
    sequences = list_of(analysis.scores, "sequence")
    pairs = [name for name in sequences if is_pair(name)]
    tables = []
    for sequence in sequences:
        if sequence in pairs and len(pairs) > FEW_PAIRS:
            continue
        scores = select(analysis.scores, sequence=sequence)
        if scores.family.iloc[0] not in TRIPLETS:
            tables.append(_metrics(analysis, sequence, scores))
        tables += _tasks(analysis, sequence, scores)
        if scores.label.nunique() > 1:
            tables += _pairwise(sequence, scores)
    return tables


def _where(scores: pd.DataFrame) -> str:
    run = scores["run"].iloc[0]
    return display_name(run.sequence, run.tasks)


def _metrics(analysis: Analysis, sequence: str, scores: pd.DataFrame) -> Table:
    known = paper.on_sequence(sequence, PERFORMANCE, "recall") is not None
    return pivot_table(
        analysis,
        scores,
        label_keys(analysis, list_of(scores, "label"), with_paper=known),
        [*metric_keys(scores), Key(INTERQUARTILE, value=INTERQUARTILE)],
        published=lambda row, column: paper.on_sequence(sequence, column.value, row.method),
        advise=True,
        name=sequence,
        title=f"Results on {_where(scores)}",
        corner="method",
        group=sequence,
    )


def _tasks(analysis: Analysis, sequence: str, scores: pd.DataFrame) -> Iterator[Table]:
    """Yield the success at the end of each task, and the transfer to it."""
    for name, title, value in (
        ("tasks", "Success on each task at the end of", "final"),
        ("transfer", "Forward transfer of each task of", "transfer"),
    ):
        yield pivot_table(
            analysis,
            scores,
            label_keys(analysis, list_of(scores, "label")),
            _by_position(scores, value),
            name=f"{sequence}-{name}",
            title=f"{title} {_where(scores)}",
            corner="method",
            group=sequence,
            detail=True,
        )


def _by_position(scores: pd.DataFrame, *values: str, words: Sequence[str] = ("",)) -> list[Key]:
    """Return a key for each task of a sequence and each value."""
    tasks = dict(sorted(zip(scores.position, scores.task, strict=True)))
    return [
        Key(f"{position + 1} {task}{word}", {"position": position}, value)
        for position, task in tasks.items()
        for value, word in zip(values, words, strict=True)
    ]


def _pairwise(sequence: str, scores: pd.DataFrame) -> list[Table]:
    """Return how often a method does better than another, and by how much, seed by seed."""
    groups = groups_of(scores, list_of(scores, "label"))

    def chance(mine: pd.DataFrame, other: pd.DataFrame) -> Cell:
        return Cell(improvement(mine, other).estimate, runs=mine["run"].nunique())

    def ahead(mine: pd.DataFrame, other: pd.DataFrame) -> Cell:
        return difference_cell(mine, other, PERFORMANCE)

    return [
        Table(
            name=f"{sequence}-{name}",
            title=title,
            corner="method",
            columns=tuple(groups),
            rows=square(groups, compare),
            notes=(note,),
            group=sequence,
            detail=True,
        )
        for name, title, compare, note in (
            (
                "improvement",
                f"How often a run of the row does better than one of the column on {sequence}",
                chance,
                "By average performance at the end; ties count half.",
            ),
            (
                "differences",
                f"Average performance of the row minus that of the column on {sequence}",
                ahead,
                f"Means over the seeds that both have. {OF_INTERVALS}",
            ),
        )
    ]


def return_tables(analysis: Analysis) -> list[Table]:
    """Return a table for each sequence with a task that reports no success, or never succeeds."""
    succeeded = analysis.scores.groupby("sequence")[["trained", "final"]].max().max(axis=1)
    silent = {
        name: list(dict.fromkeys(task for run in part.runs for task in run.without_success))
        for name, part in analysis.collection.sequential.by_sequence().items()
    }
    shown = [name for name in silent if silent[name] or succeeded.get(name, 1.0) == 0.0]
    chosen: Collection = analysis.collection.where(lambda run: run.sequence in shown)
    returns = analyse(chosen, dataclasses.replace(analysis.measure, field=RETURN))
    return [
        _returns(returns, select(returns.scores, sequence=name), silent[name])
        for name in list_of(returns.scores, "sequence")
    ]


def _returns(returns: Analysis, scores: pd.DataFrame, silent: Sequence[str]) -> Table:
    notes: tuple[str, ...] = ()
    if set(silent) >= set(scores.task):
        notes = ("The tasks do not report success, so returns stand instead.",)
    elif silent:
        notes = (f"{', '.join(silent)}: success is not reported; other tables leave them out.",)
    return pivot_table(
        returns,
        scores,
        label_keys(returns, list_of(scores, "label")),
        _by_position(scores, "trained", "final", words=(", just learned", ", at the end")),
        notes=notes,
        name=f"{scores.sequence.iloc[0]}-returns",
        title=f"Returns on {_where(scores)}",
        corner="method",
        decimals=1,
        group=scores.sequence.iloc[0],
        detail=scores.task.nunique() > _FEW_TASKS,
    )
