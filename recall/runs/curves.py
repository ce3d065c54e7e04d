"""The evaluations of a fleet as curves, [evaluation, task] for each run, mode and field."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recall.runs.evaluations import FIELDS, MODES, RATES
from recall.runs.json_lines import Record, as_number, read_blocks

Array = np.ndarray
_PLACE = ("run", "step", "position")
_COLUMNS = (*_PLACE, *FIELDS)


@dataclass(frozen=True)
class RunCurves:
    """The evaluation curves of one run."""

    steps: Array
    curves: dict[tuple[str, str], Array]
    recorded: Array
    """[mode, evaluation, task]: True where there is a record, whatever its values are."""
    blanks: int
    """Number of recorded values that are not finite numbers."""
    impossible: tuple[float, ...] = ()
    """The recorded success rates outside [0, 1]; like blanks, they are NaN in the curves."""


def read_curves(
    path: Path, runs: int, tasks: int, finished: bool = False
) -> tuple[list[RunCurves], int]:
    """Return the curves of every run of a fleet, and the number of lines that were unusable.

    A last line that is cut short counts as unusable if the fleet is `finished`.
    """
    blocks, unread = [], 0
    for records, broken in read_blocks(path, finished):
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
    except (TypeError, ValueError, OverflowError):  # some value is a text, a list or too large
        return np.array([[as_number(value) for value in row] for row in rows], float)


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
    fields = table[len(_PLACE) : len(_COLUMNS)]
    blanks = int(np.sum(~np.isfinite(fields)))
    impossible = _is_impossible(fields)
    values = np.where(np.isfinite(fields) & ~impossible, fields, np.nan)
    recorded = np.zeros((len(MODES), len(steps), tasks), bool)
    curves: dict[tuple[str, str], Array] = {}
    for number, name in enumerate(MODES):
        chosen = mode == number
        recorded[number, row[chosen], position[chosen]] = True
        for column, field in enumerate(FIELDS):
            curve = np.full((len(steps), tasks), np.nan)
            curve[row[chosen], position[chosen]] = values[column, chosen]
            curves[name, field] = curve
    return RunCurves(steps, curves, recorded, blanks, tuple(fields[impossible].tolist()))


def _is_impossible(fields: Array) -> Array:
    """Return [field, record]: True for success rates that are numbers, but outside [0, 1]."""
    rates = np.array([field in RATES for field in FIELDS])[:, None]
    return rates & np.isfinite(fields) & ((fields < 0) | (fields > 1))
