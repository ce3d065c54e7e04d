"""Represent a table as data, so that every output format shows the same content."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from recall.analysis.bootstrap import Estimate

MISSING = "\N{EN DASH}"


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
    same_settings: bool = False
    """Whether ours were trained with the paper's settings, so that both may share a cell."""

    @property
    def is_papers(self) -> bool:
        """Return True if the cell holds the paper's number alone."""
        return self.ours is None and self.paper is not None


class Row(NamedTuple):
    """A heading and the cells of one row."""

    heading: str
    cells: tuple[Cell, ...]


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
    """Facts about the numbers; part of the caption in LaTeX."""
    advice: tuple[str, ...] = ()
    """What the reader of a report could do; not part of a caption."""
    lower: tuple[bool, ...] = ()
    """For each column, whether less is better; empty if more is better in all."""
    decimals: int = 2
    group: str = ""
    """Tables of one group are shown together, such as the three metrics of CW3."""
    detail: bool = False
    """Too detailed for the terminal: shown only in the files and on the page."""


def notes_below(table: Table) -> tuple[str, ...]:
    """Return everything that is written below a table."""
    return (*table.notes, *table.advice)


def number_text(value: float, decimals: int = 2) -> str:
    """Format a number, without a sign before zero."""
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.lstrip("-")


def estimate_text(estimate: Estimate | None, decimals: int = 2) -> str:
    """Format a mean with its interval, as in the paper: 0.90 [0.88, 0.92]."""
    if estimate is None or math.isnan(estimate.value):
        return MISSING
    text = number_text(estimate.value, decimals)
    if estimate.interval is None:
        return text
    low, high = (number_text(bound, decimals) for bound in estimate.interval)
    return f"{text} [{low}, {high}]"
