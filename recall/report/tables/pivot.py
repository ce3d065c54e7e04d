"""Tables as data: rows and columns select scores, and each cell is the mean of one value."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import pandas as pd

from recall.analysis.bootstrap import Estimate, Sampled
from recall.analysis.estimates import difference, estimate, interquartile_mean, rank, shared_seeds
from recall.analysis.frames import Analysis, select
from recall.analysis.labels import label_of
from recall.analysis.measures import METRICS, TITLES, TRANSFER
from recall.methods import METHODS
from recall.report import paper
from recall.report.tables.notes import budget_notes, paper_notes, transfer_facts, transfer_note
from recall.report.tables.table import Cell, Row, Table

INTERQUARTILE = "interquartile mean"


class Key(NamedTuple):
    """A row or a column of a table."""

    heading: str
    where: Mapping[str, Any] = {}
    """The scores it selects: columns and their values. A list must be there as a whole."""
    value: str = ""
    """The column or metric whose mean it shows, if this key says it."""
    method: str = ""
    """The method whose numbers in the paper belong here, if any."""
    detail: str = ""
    """What a row shows below its heading."""


def pivot_table(
    analysis: Analysis,
    scores: pd.DataFrame,
    rows: Sequence[Key],
    columns: Sequence[Key],
    *,
    best: Literal["row", "column"] = "column",
    published: Callable[[Key, Key], Estimate | None] | None = None,
    places: bool = False,
    notes: Iterable[str] = (),
    advise: bool = False,
    **others: Any,
) -> Table:
    """Return a table of the means of the scores that a row and a column select together.

    The best of each row or column is bold, and what cannot be told from it (see `rank`). The
    paper's numbers, which `published` returns for a row and a column, stand in rows of their own.
    Rows without a number are left out. `places` is that of `estimate`; `advise` adds which
    single-task runs are missing for forward transfer. `others` are further fields of the table.
    """
    grid = {
        (r, c): (_chosen(scores, row, column), column.value or row.value)
        for r, row in enumerate(rows)
        for c, column in enumerate(columns)
    }
    lines: dict[tuple[int, str], dict[tuple[int, int], pd.DataFrame]] = {}
    for place, (chosen, value) in grid.items():
        # The interquartile mean is no mean over runs, and so without differences by seed.
        if value != INTERQUARTILE:
            lines.setdefault((place[best == "column"], value), {})[place] = chosen
    bold = {place for (_, value), line in lines.items() for place in rank(line, value).bold}
    shown: list[Row] = []
    for r, row in enumerate(rows):
        ours = [cell(*grid[r, c], places, (r, c) in bold) for c in range(len(columns))]
        theirs = [Cell(paper=published and published(row, column)) for column in columns]
        if any(each.ours for each in ours):
            shown.append(Row(row.heading, tuple(ours), row.detail))
        if any(each.paper for each in theirs):
            name = label_of(row.method) if row.method else row.heading
            shown.append(Row(f"{name} (paper)", tuple(theirs)))
    transfers = any(key.value in (TRANSFER, "transfer") for key in (*rows, *columns))
    return Table(
        columns=tuple(key.heading for key in columns),
        rows=tuple(shown),
        notes=(
            *budget_notes(scores),
            *paper_notes(shown),
            *notes,
            *(transfer_facts(analysis, scores) if transfers else ()),
        ),
        advice=transfer_note(analysis, scores) if advise else (),
        **others,
    )


def _chosen(scores: pd.DataFrame, row: Key, column: Key) -> pd.DataFrame:
    where = {**row.where, **column.where}
    rows = select(scores, **where)
    lists = {name: value for name, value in where.items() if isinstance(value, list)}
    whole = all(set(rows[name]) == set(value) for name, value in lists.items())
    return rows if whole else rows[:0]


def cell(rows: pd.DataFrame, value: str, places: bool = False, bold: bool = False) -> Cell:
    """Return the cell with the mean of a value over the rows of one label."""
    if rows.empty:
        return Cell()
    if value == INTERQUARTILE:
        found: Sampled | None = interquartile_mean(rows)
    else:
        found = estimate(rows, value, places)
    return Cell(found.estimate, bold=bold, runs=rows["run"].nunique()) if found else Cell()


def difference_cell(ours: pd.DataFrame, theirs: pd.DataFrame, value: str) -> Cell:
    """Return the cell for ours minus theirs, seed by seed."""
    return Cell(difference(ours, theirs, value), runs=shared_seeds(ours, theirs))


def groups_of(scores: pd.DataFrame, labels: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Return the rows of each label that has any."""
    found = {label: select(scores, label=label) for label in labels}
    return {label: rows for label, rows in found.items() if len(rows)}


def label_keys(analysis: Analysis, labels: Iterable[str], with_paper: bool = False) -> list[Key]:
    """Return a key for each label and, on request, for the paper's methods that are not there.

    The paper's numbers belong to the label with its settings, or else to that of the plain method.
    """
    method_of = {run.label: run.method for run in analysis.collection.runs}
    shown, keys = list(labels), []
    for label in shown:
        method = method_of[label]
        as_paper = label_of(method, preset="paper")
        plain = as_paper if as_paper in shown else label_of(method)
        keys.append((method, Key(label, {"label": label}, method=method if label == plain else "")))
    chosen = analysis.collection.chosen
    if with_paper:
        absent = [name for name in paper.METHODS if name not in {key.method for _, key in keys}]
        for method in absent:
            if not chosen or method in chosen:
                label = label_of(method)
                keys.append((method, Key(label, {"label": label}, method=method)))
        if not chosen:
            order = {method: place for place, method in enumerate(METHODS)}
            keys.sort(key=lambda each: order.get(each[0], len(order)))
    return [key for _, key in keys]


def metric_keys(scores: pd.DataFrame) -> list[Key]:
    """Return a key for each metric that some label has; forward transfer needs references."""
    transfers = scores.transfer.notna().any()
    return [Key(TITLES[name], value=name) for name in METRICS if name != TRANSFER or transfers]
