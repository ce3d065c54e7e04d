"""Reading of a run's training records as columns of numbers."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from recall.files.fleet_layout import records_file
from recall.runs.json_lines import Record, as_number, find_records, read_marked, read_run

Array = np.ndarray
Columns = dict[str, Array]
TRAINING = "training"
_APART = ("head_returns", "health")  # keys of records that are not part of the columns


@dataclass(frozen=True)
class Training:
    """The columns of one run's records, its choices among old heads, and the problem found, if any.

    The problem concerns the file, so it has the same text for all runs of a fleet.
    """

    columns: Columns
    choices: list[Record]
    problem: str | None = None


def read_training(folder: Path, run: int, tasks: int) -> Training:
    """Read the training records of one run of a fleet; they are empty if there is no file."""
    path = folder / records_file(TRAINING)
    try:
        path = find_records(folder, TRAINING)
        records, broken = read_run(path, run)
    except FileNotFoundError:
        return Training({}, [])
    except OSError as error:
        return Training({}, [], _unreadable(path, error))
    choices = [record for record in records if "head_returns" in record]
    rows = [
        record
        for record in records
        if not any(key in record for key in _APART) and isinstance(record.get("step"), int)
    ]
    names = dict.fromkeys(chain.from_iterable(rows))
    columns = {
        name: _array([row.get(name) for row in rows], tasks) for name in names if name != "run"
    }
    were = "line cannot be used and was" if broken == 1 else "lines cannot be used and were"
    wrong = f"{path}: {broken} {were} left out." if broken else None
    return Training(columns, choices, wrong)


def read_warnings(
    folder: Path, finished: bool = False
) -> tuple[dict[int, tuple[Record, ...]], str | None]:
    """Return the health warnings of each run of a fleet, and what is wrong with the file.

    The last line of a `finished` fleet must not be cut short. Before the end it may be: it is being
    written.
    """
    path = folder / records_file(TRAINING)
    try:
        path = find_records(folder, TRAINING)
        records, cut = read_marked(path, b'"health"')
    except FileNotFoundError:
        return {}, None
    except OSError as error:
        return {}, _unreadable(path, error)
    warnings: dict[int, tuple[Record, ...]] = {}
    for record in filter(_is_warning, records):
        warnings[record["run"]] = (*warnings.get(record["run"], ()), record)
    return warnings, _cut_short(path) if cut and finished else None


def _is_warning(record: Record) -> bool:
    """Return True if a record has everything that a report needs of a warning."""
    types = {"run": int, "step": int, "health": str, "message": str}
    return all(isinstance(record.get(name), kind) for name, kind in types.items())


def _cut_short(path: Path) -> str:
    return (
        f"{path} ends in the middle of a line, though its fleet is finished: it was cut short, and "
        "figures of training lack what is lost. Restore it from a copy."
    )


def _unreadable(path: Path, error: OSError) -> str:
    return f"{path} cannot be read ({error.strerror}): left out."


def _array(column: list[Any], tasks: int) -> Array:
    """Return [row], or [row, task] if values are lists, with NaN for missing or invalid values."""
    width = max((len(value) for value in column if isinstance(value, list)), default=0)
    if width:
        width = max(width, tasks)
        blank = [None] * width
        lists = [value if isinstance(value, list) else blank for value in column]
        column = [value + blank[len(value) :] for value in lists]
    try:
        return np.array(column, float)
    except (TypeError, ValueError, OverflowError):  # a text, an object, a deeper list or too large
        flat = [as_number(value) for row in column for value in (row if width else [row])]
        return np.array(flat, float).reshape((len(column), width) if width else -1)
