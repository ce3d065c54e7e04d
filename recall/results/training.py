"""The training records of a fleet as columns of numbers."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from recall.results.lines import Record, read_blocks

Array = np.ndarray
Columns = dict[str, Array]


@lru_cache(maxsize=1)  # figures go through a fleet's runs one after the other
def read_training(folder: Path) -> tuple[dict[int, Columns], dict[int, list[Record]]]:
    """By run: the columns of its records, and its choices among old heads."""
    path = folder / "training.jsonl"
    columns: dict[int, dict[str, list[Any]]] = {}
    choices: dict[int, list[Record]] = {}
    if path.exists():
        for records, _ in read_blocks(path):
            for record in records:
                run = record.get("run", -1)
                if "head_returns" in record:
                    choices.setdefault(run, []).append(record)
                elif "step" in record:
                    _append(columns.setdefault(run, {"step": []}), record)
    return {run: _arrays(lists) for run, lists in columns.items()}, choices


def _append(lists: dict[str, list[Any]], record: Record) -> None:
    """Add a row; a column that begins late or misses this row is filled up with None."""
    rows = len(lists["step"])
    for name, value in record.items():
        if name != "run" and not isinstance(value, str):
            column = lists.setdefault(name, [])
            column.extend([None] * (rows - len(column)))
            column.append(value)


def _arrays(lists: dict[str, list[Any]]) -> Columns:
    rows = len(lists["step"])
    return {name: _array(column, rows) for name, column in lists.items()}


def _array(column: list[Any], rows: int) -> Array:
    """[rows], or [rows, task] where values are lists; NaN for what is missing."""
    column = column + [None] * (rows - len(column))
    width = max((len(value) for value in column if isinstance(value, list)), default=0)
    if not width:
        return np.array(column, float)
    blank = [None] * width
    lists = [value if isinstance(value, list) else blank for value in column]
    return np.array([value + blank[len(value) :] for value in lists], float)
