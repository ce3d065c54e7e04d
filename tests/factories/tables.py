"""The tables of a report on a folder, and single cells of them."""

from pathlib import Path
from typing import Any

from recall.report.tables import all_tables
from recall.report.tables.table import Cell, Table
from recall.results.collection import gather
from recall.results.measures import Measure
from recall.results.scores import ScoreBoard


def tables_of(folder: Path, benches: Any = (), measure: Measure | None = None) -> dict[str, Table]:
    """Return all tables by name."""
    board = ScoreBoard(gather(folder), measure)
    return {table.name: table for table in all_tables(board, benches)}


def cell_of(table: Table, row: str, column: str) -> Cell:
    (found,) = (each for each in table.rows if each.heading == row)
    return found.cells[table.columns.index(column)]
