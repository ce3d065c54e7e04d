"""The training records of a run as columns of numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recall.results.lines import Record, read_run

Array = np.ndarray
Columns = dict[str, Array]


@dataclass(frozen=True)
class Training:
    """The columns of one run's records, its choices among old heads, and what is wrong with them.

    What is wrong is told of the file, in the same words by all runs of a fleet.
    """

    columns: Columns
    choices: list[Record]
    problem: str | None = None


def read_training(folder: Path, run: int) -> Training:
    """The training records of a fleet's run; none where there are none."""
    path = folder / "training.jsonl"
    try:
        records, broken = read_run(path, run)
    except FileNotFoundError:
        return Training({}, [])
    except OSError as error:
        return Training({}, [], f"{path} cannot be read ({error.strerror}): left out.")
    columns: dict[str, list[Any]] = {"step": []}
    choices: list[Record] = []
    for record in records:
        if "head_returns" in record:
            choices.append(record)
        elif isinstance(record.get("step"), int):
            _append(columns, record)
    rows = len(columns["step"])
    arrays = {name: _array(column, rows) for name, column in columns.items()}
    wrong = f"{path}: {broken} lines cannot be used and were left out." if broken else None
    return Training(arrays if rows else {}, choices, wrong)


def _append(lists: dict[str, list[Any]], record: Record) -> None:
    """Add a row; a column that begins late or misses this row is filled up with None."""
    rows = len(lists["step"])
    for name, value in record.items():
        if name != "run" and not isinstance(value, str):
            column = lists.setdefault(name, [])
            column.extend([None] * (rows - len(column)))
            column.append(value)


def _array(column: list[Any], rows: int) -> Array:
    """[rows], or [rows, task] where values are lists; NaN for what is missing or no number."""
    column = column + [None] * (rows - len(column))
    width = max((len(value) for value in column if isinstance(value, list)), default=0)
    if width:
        blank = [None] * width
        lists = [value if isinstance(value, list) else blank for value in column]
        column = [value + blank[len(value) :] for value in lists]
    try:
        return np.array(column, float)
    except (TypeError, ValueError):  # some value is a text, an object or a deeper list
        flat = [_number(value) for row in column for value in (row if width else [row])]
        return np.array(flat, float).reshape((rows, width) if width else rows)


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else np.nan
