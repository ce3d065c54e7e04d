"""The tables of a report on a folder, and single cells of them."""

from pathlib import Path

from recall.analysis.collection import gather
from recall.analysis.frames import analyse
from recall.analysis.metrics import Measure
from recall.report.tables import all_tables
from recall.report.tables.pivot import Cell, Table


def tables_of(folder: Path, measure: Measure | None = None) -> dict[str, Table]:
    """Return all tables by name."""
    analysis = analyse(gather(folder), measure)
    return {table.name: table for table in all_tables(analysis)}


def cell_of(table: Table, row: str, column: str) -> Cell:
    (found,) = (each for each in table.rows if each.heading == row)
    return found.cells[table.columns.index(column)]
