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
    """The content of one cell: our estimate, the paper's, or a text."""

    ours: Estimate | None = None
    paper: Estimate | None = None
    text: str | None = None
    """Text shown instead of numbers, if given."""
    bold: bool = False
    """Whether our estimate is the best of its row or column, or cannot be told from it."""
    runs: int = 0
    """Number of runs that our estimate is a mean of."""

    @property
    def is_papers(self) -> bool:
        """Return True if the cell holds the paper's number alone."""
        return self.ours is None and self.paper is not None

    @property
    def is_empty(self) -> bool:
        """Return True if the cell shows neither a number nor words."""
        numbers = (each for each in (self.ours, self.paper) if each is not None)
        return self.text in (None, "", MISSING) and all(math.isnan(each.value) for each in numbers)


class Row(NamedTuple):
    """A heading and the cells of one row."""

    heading: str
    cells: tuple[Cell, ...]
    detail: str = ""
    """Shown in small type below the heading, where there is room."""


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


def trimmed(table: Table) -> Table:
    """Return a table without the rows and columns in which every cell is empty."""
    rows = [row for row in table.rows if not all(cell.is_empty for cell in row.cells)]
    kept = [
        place
        for place in range(len(table.columns))
        if not all(row.cells[place].is_empty for row in rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(row._replace(cells=tuple(row.cells[place] for place in kept)) for row in rows),
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
