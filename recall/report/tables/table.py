"""Represent a table as data, so that every output format shows the same content."""

import math
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from recall.analysis.bootstrap import Estimate

MISSING = "\N{EN DASH}"
BOLD = (
    "Bold: the best, and what cannot be told from it: the 90 % Student's t interval of their "
    "difference over shared seeds reaches zero."
)


@dataclass(frozen=True)
class Cell:
    """The content of one cell: an estimate, or a text instead of one."""

    estimate: Estimate | None = None
    text: str | None = None
    bold: bool = False
    """Whether the estimate is the best of its row or column, or cannot be told from it."""
    runs: int = 0
    """Number of runs that the estimate is a mean of."""

    def words(self, decimals: int) -> str:
        """Return what the cell shows."""
        return estimate_text(self.estimate, decimals) if self.text is None else self.text


class Row(NamedTuple):
    """A heading and the cells of one row."""

    heading: str
    cells: tuple[Cell, ...]
    detail: str = ""
    """Shown in small type below the heading, where there is room."""
    papers: bool = False
    """Whether the numbers are the paper's."""


@dataclass(frozen=True)
class Table:
    """A title, headings, rows, and notes below the table."""

    name: str
    """Stem of the file names."""
    title: str
    corner: str
    """Heading of the column of row headings."""
    columns: tuple[str, ...]
    """Headings of the cell columns, one per cell of a row."""
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """Facts about the numbers."""
    advice: tuple[str, ...] = ()
    """What the reader of a report could do; left out in LaTeX."""
    decimals: int = 2
    group: str = ""
    """Tables of one group are shown together, such as the three metrics of CW3."""
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
