"""The evaluations of a fleet as curves, [evaluation, task] for each run, mode and field."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recall.results.evaluations import FIELDS, MODES
from recall.results.json_lines import Record, read_blocks

Array = np.ndarray
_PLACE = ("run", "step", "position")
_COLUMNS = (*_PLACE, *FIELDS)


@dataclass(frozen=True)
class RunCurves:
    """The evaluation curves of one run."""

    steps: Array
    curves: dict[tuple[str, str], Array]
    blanks: int
    """Number of recorded values that are not finite numbers."""


def read_curves(path: Path, runs: int, tasks: int) -> tuple[list[RunCurves], int]:
    """Return the curves of every run of a fleet, and the number of lines that were unusable."""
    blocks, unread = [], 0
    for records, broken in read_blocks(path):
        columns = _columns(records)
        good = _usable(columns, runs, tasks)
        unread += broken + int(np.sum(~good))
        blocks.append(columns[:, good])
    table = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(_COLUMNS) + 1, 0))
    return [_of_run(table[:, table[0] == run], tasks) for run in range(runs)], unread


def _columns(records: list[Record]) -> Array:
    """Return [column, record]: place, fields and the mode's number, with NaN for missing values."""
    mode = {name: number for number, name in enumerate(MODES)}
    rows: list[list[Any]] = [[record.get(name) for record in records] for name in _COLUMNS]
    rows.append([mode.get(record.get("mode", "")) for record in records])
    try:
        return np.array(rows, float)
    except (TypeError, ValueError):  # some value is a text or a list
        return np.array([[_number(value) for value in row] for row in rows], float)


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else np.nan


def _usable(columns: Array, runs: int, tasks: int) -> Array:
    run, step, position, mode = *columns[:3], columns[-1]
    with np.errstate(invalid="ignore"):
        return (
            (run >= 0) & (run < runs) & (position >= 0) & (position < tasks)
            & (step >= 0) & np.isfinite(step) & (mode >= 0)
        )  # fmt: skip


def _of_run(table: Array, tasks: int) -> RunCurves:
    steps, row = np.unique(table[1].astype(int), return_inverse=True)
    position, mode = table[2].astype(int), table[-1]
    curves: dict[tuple[str, str], Array] = {}
    for number, name in enumerate(MODES):
        chosen = mode == number
        for column, field in enumerate(FIELDS, start=len(_PLACE)):
            curve = np.full((len(steps), tasks), np.nan)
            curve[row[chosen], position[chosen]] = table[column, chosen]
            curves[name, field] = np.where(np.isfinite(curve), curve, np.nan)
    fields = table[len(_PLACE) : len(_COLUMNS)]
    return RunCurves(steps, curves, int(np.sum(~np.isfinite(fields))))
