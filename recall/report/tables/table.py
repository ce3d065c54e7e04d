"""A table as data: what is said in each cell, so that every format says the same."""

import math
from dataclasses import dataclass

from recall.results.bootstrap import Estimate

MISSING = "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """What one cell says: ours, the paper's beside it, or a text."""

    ours: Estimate | None = None
    paper: Estimate | None = None
    text: str | None = None
    """Said instead of numbers, where given."""
    bold: bool = False
    """Whether ours is the best of its row or column, or cannot be told from it."""
    runs: int = 0
    """Over how many runs ours is a mean."""


@dataclass(frozen=True)
class Row:
    """A heading and the cells under the columns."""

    heading: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A title, headings, rows, and notes below."""

    name: str
    """The stem of its files."""
    title: str
    corner: str
    """What the headings of the rows are."""
    columns: tuple[str, ...]
    """Headings of the cells' columns, as many as each row has cells."""
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    decimals: int = 2
    group: str = ""
    """Tables of one group stand together, such as the three metrics of CW3."""
    detail: bool = False
    """Too fine for the terminal: in the files and on the page only."""


def number_text(value: float, decimals: int = 2) -> str:
    """A number, no sign before a zero."""
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.lstrip("-")


def estimate_text(estimate: Estimate | None, decimals: int = 2) -> str:
    """A mean with its interval, as in the paper: 0.90 [0.88, 0.92]."""
    if estimate is None or math.isnan(estimate.value):
        return MISSING
    text = number_text(estimate.value, decimals)
    if estimate.interval is None:
        return text
    low, high = (number_text(bound, decimals) for bound in estimate.interval)
    return f"{text} [{low}, {high}]"
