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
