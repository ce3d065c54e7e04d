"""Represent tables as data: rows and columns select scores, and a cell is the mean of one value."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import pandas as pd

from recall.analysis.estimates import Estimate, estimate, interquartile_mean, rank
from recall.analysis.frames import Analysis, select
from recall.analysis.labels import label_of
from recall.analysis.metrics import METRICS, TITLES, TRANSFER
from recall.methods import METHODS
from recall.report import paper
from recall.report.tables.notes import budget_notes, paper_note, transfer_advice, transfer_facts

MISSING = "\N{EN DASH}"
BOLD = (
    "Bold: the best, and what cannot be told from it: the 90 % Student's t interval of their "
    "difference over shared seeds reaches zero."
)


@dataclass(frozen=True)
class Cell:
    """The content of one cell: an estimate of some runs, or a text; bold if best."""

    estimate: Estimate | None = None
    text: str | None = None
    bold: bool = False
    runs: int = 0

    def words(self, decimals: int) -> str:
        """Return what the cell shows."""
        return estimate_text(self.estimate, decimals) if self.text is None else self.text


class Row(NamedTuple):
    """The cells of one row below a heading with a detail; `papers` marks the paper's numbers."""

    heading: str
    cells: tuple[Cell, ...]
    detail: str = ""
    papers: bool = False


@dataclass(frozen=True)
class Table:
    """A title, headings, rows, and notes below the table; files have its name."""

    name: str
    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """Facts about the numbers."""
    advice: tuple[str, ...] = ()
    """What the reader of a report could do; left out in LaTeX."""
    decimals: int = 2

    detail: bool = False
    """Too detailed for the terminal: shown only in the files and on the page."""

    def trimmed(self) -> "Table":
        """Return the table without the rows and columns in which every cell is empty."""
        empty = ("", MISSING)
        rows = [row for row in self.rows if any(cell.words(2) not in empty for cell in row.cells)]
        kept = [
            place
            for place in range(len(self.columns))
            if any(row.cells[place].words(2) not in empty for row in rows)
        ]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in kept),
            rows=tuple(row._replace(cells=tuple(row.cells[p] for p in kept)) for row in rows),
        )


def notes_below(table: Table) -> tuple[str, ...]:
    """Return everything that is written below a table."""
    return (*table.notes, *table.advice)


def number_text(value: float, decimals: int = 2) -> str:
    """Format a number, without a sign before zero."""
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.lstrip("-")


def with_minus(text: str) -> str:
    """Return a text with minus signs, not hyphens, before its numbers."""
    return re.sub(r"(?<!\w)-(?=[.\d]|inf)", "\N{MINUS SIGN}", text)


def estimate_text(estimate: Estimate | None, decimals: int = 2) -> str:
    """Format a mean with its interval, as in the paper: 0.90 [0.88, 0.92]."""
    if estimate is None or math.isnan(estimate.value):
        return MISSING
    text = number_text(estimate.value, decimals)
    if estimate.interval is None:
        return text
    low, high = (number_text(bound, decimals) for bound in estimate.interval)
    return f"{text} [{low}, {high}]"


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
    corner: str = "method",
    notes: Iterable[str] = (),
    advise: bool = False,
    **others: Any,
) -> Table:
    """Return a table of the means of the scores that a row and a column select together.

    The best of each row or column is bold, and what cannot be told from it (see `rank`). The
    paper's numbers, which `published` returns, stand in rows of their own. Rows without a number
    are left out. `places` is that of `estimate`; `advise` adds which single-task runs are missing
    for forward transfer. `others` are further fields of the table.
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
        ours = [_cell(*grid[r, c], places, (r, c) in bold) for c in range(len(columns))]
        if any(each.estimate for each in ours):
            shown.append(Row(row.heading, tuple(ours), row.detail))
        if published:
            name = label_of(row.method) if row.method else row.heading
            shown += papers_row(name, [published(row, column) for column in columns])
    transfers = any(key.value in (TRANSFER, "transfer") for key in (*rows, *columns))
    return Table(
        corner=corner,
        columns=tuple(key.heading for key in columns),
        rows=tuple(shown),
        notes=(
            *budget_notes(scores),
            *([paper_note()] if any(row.papers for row in shown) else []),
            *notes,
            *(transfer_facts(analysis, scores) if transfers else ()),
        ),
        advice=transfer_advice(analysis, scores) if advise else (),
        **others,
    )


def papers_row(name: str, estimates: Sequence[Estimate | None]) -> list[Row]:
    """Return the row of the paper's numbers, if it has any."""
    cells = tuple(map(Cell, estimates))
    return [Row(f"{name} (paper)", cells, papers=True)] if any(estimates) else []


def _chosen(scores: pd.DataFrame, row: Key, column: Key) -> pd.DataFrame:
    where = {**row.where, **column.where}
    rows = select(scores, **where)
    lists = ((name, value) for name, value in where.items() if isinstance(value, list))
    whole = all(set(rows[name]) == set(value) for name, value in lists)
    return rows if whole else rows[:0]


def _cell(rows: pd.DataFrame, value: str, places: bool, bold: bool) -> Cell:
    if rows.empty:
        return Cell()
    iqm = value == INTERQUARTILE
    found = interquartile_mean(rows) if iqm else estimate(rows, value, places)
    return Cell(found.estimate, bold=bold, runs=rows["run"].nunique()) if found else Cell()


def by_label(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each label."""
    return {str(label): rows for label, rows in scores.groupby("label", sort=False)}


def label_keys(analysis: Analysis, labels: Iterable[str], with_paper: bool = False) -> list[Key]:
    """Return a key for each label and, on request, for the paper's methods that are not there.

    The paper's numbers belong to the label with its settings, or else to that of the plain method.
    """
    method_of = {run.label: run.method for run in analysis.collection.runs}
    shown, chosen = {label: method_of[label] for label in labels}, analysis.collection.chosen
    as_paper = {label_of(name, preset="paper"): name for name in shown.values()}
    plain = {name: label for label, name in as_paper.items() if label in shown}
    plain = {name: plain.get(name, label_of(name)) for name in (*shown.values(), *paper.METHODS)}
    if with_paper:
        absent = {plain[name]: name for name in paper.METHODS if not chosen or name in chosen}
        shown |= {label: name for label, name in absent.items() if label not in shown}
        if not chosen:
            order = {method: place for place, method in enumerate(METHODS)}
            shown = dict(sorted(shown.items(), key=lambda each: order.get(each[1], len(order))))
    return [
        Key(label, {"label": label}, method=method if label == plain[method] else "")
        for label, method in shown.items()
    ]


def metric_keys(scores: pd.DataFrame) -> list[Key]:
    """Return a key for each metric that some label has; forward transfer needs references."""
    transfers = scores.transfer.notna().any()
    return [Key(TITLES[name], value=name) for name in METRICS if name != TRANSFER or transfers]
