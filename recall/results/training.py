"""The training records of a run as columns of numbers."""

from pathlib import Path
from typing import Any

import numpy as np

from recall.results.lines import Record, read_run

Array = np.ndarray
Columns = dict[str, Array]


def read_training(folder: Path, run: int) -> tuple[Columns, list[Record]]:
    """The columns of one run's records, and its choices among old heads."""
    path = folder / "training.jsonl"
    columns: dict[str, list[Any]] = {"step": []}
    choices: list[Record] = []
    for record in read_run(path, run) if path.exists() else ():
        if "head_returns" in record:
            choices.append(record)
        elif "step" in record:
            _append(columns, record)
    rows = len(columns["step"])
    arrays = {name: _array(column, rows) for name, column in columns.items()}
    return arrays if rows else {}, choices


def _append(lists: dict[str, list[Any]], record: Record) -> None:
    """Add a row; a column that begins late or misses this row is filled up with None."""
    rows = len(lists["step"])
    for name, value in record.items():
        if name != "run" and not isinstance(value, str):
            column = lists.setdefault(name, [])
            column.extend([None] * (rows - len(column)))
            column.append(value)


def _array(column: list[Any], rows: int) -> Array:
    """[rows], or [rows, task] where values are lists; NaN for what is missing."""
    column = column + [None] * (rows - len(column))
    width = max((len(value) for value in column if isinstance(value, list)), default=0)
    if not width:
        return np.array(column, float)
    blank = [None] * width
    lists = [value if isinstance(value, list) else blank for value in column]
    return np.array([value + blank[len(value) :] for value in lists], float)
