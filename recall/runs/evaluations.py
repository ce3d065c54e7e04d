"""The records of evaluations.jsonl, one line per run, evaluation, task and mode, and their curves.

A record carries the step of the policies that were evaluated. Records may be written late and in
any order, so readers go by the step and never by the order of lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, cast, get_args

import msgspec
import numpy as np

from recall.files.fleet_layout import Count
from recall.files.reading import read_lines
from recall.runs.json_lines import complete_lines, read_blocks
from recall.runs.wording import few

Array = np.ndarray

Mode = Literal["stochastic", "deterministic"]
MODES: tuple[Mode, ...] = get_args(Mode)
Field = Literal["success", "last_success", "return"]
"""Means over episodes: success at any step, success at the last step, and the return."""
FIELDS: tuple[Field, ...] = get_args(Field)
RATES: tuple[Field, ...] = ("success", "last_success")
"""The fields that are shares of episodes, from 0 to 1."""

# A call, because `return` is a keyword.
EvaluationRecord = TypedDict(
    "EvaluationRecord",
    {
        "run": int,  # index of the run in its fleet
        "step": int,  # step of the run whose policies were evaluated
        "position": int,  # of the task in the sequence
        "task": str,
        "mode": Mode,
        "episodes": int,
        "success": float,
        "last_success": float,
        "return": float,
        # Success at any step by a criterion of Continual World, whichever `success` follows.
        "success_v1": NotRequired[float],
        "success_v2": NotRequired[float],
    },
)


def evaluation_record(
    run: int, step: int, position: int, task: str, mode: Mode, episodes: int, means: Any
) -> EvaluationRecord:
    """Return the record of one task's episodes.

    `means` has a number for each of FIELDS, and for further criteria of success if there are any.
    """
    record = {
        "run": run,
        "step": step,
        "position": position,
        "task": task,
        "mode": mode,
        "episodes": episodes,
        **{name: float(mean) for name, mean in means.items()},
    }
    return cast(EvaluationRecord, record)


class _Line(msgspec.Struct):
    """What curves need of a record; values that are not finite are null."""

    run: Count
    step: Count
    position: Count
    mode: Mode
    success: float | None = None
    last_success: float | None = None
    mean_return: float | None = msgspec.field(default=None, name="return")


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

    def lacks_at_end(self, modes: Sequence[int], tasks: Sequence[str], steps: int) -> str | None:
        """Return what a finished run lacks at its last step, or None if nothing is lost.

        `modes` are those that its fleet was evaluated in. Otherwise metrics would silently take an
        earlier evaluation of a task whose last one was lost.
        """
        if not len(self.steps):
            return "it has no evaluations"
        if self.steps[-1] < steps:
            return f"its evaluations end at step {self.steps[-1]:,} of {steps:,}"
        there: Array = np.any(self.recorded[:, self.steps == steps], axis=1)  # [mode, task]
        lost = [
            f"{task} ({MODES[mode]})"
            for mode in modes
            for position, task in enumerate(tasks)
            if not there[mode, position]
        ]
        return f"step {steps:,} lacks evaluations of {few(lost, 4)}" if lost else None


def recorded_modes(runs: Sequence[RunCurves]) -> list[int]:
    """Return the numbers of the modes that a fleet was evaluated in; schedules may leave one out.

    A mode counts if any run has a record of it, since a single run may have lost all of its own.
    """
    return [mode for mode in range(len(MODES)) if any(run.recorded[mode].any() for run in runs)]


def read_curves(
    path: Path, runs: int, tasks: int, finished: bool = False
) -> tuple[list[RunCurves], int]:
    """Return the curves of every run of a fleet, and the number of lines that were unusable.

    A last line that is cut short counts as unusable if the fleet is `finished`.
    """
    blocks, unread = [np.zeros((0, 4 + len(FIELDS)))], 0
    lines = read_lines(path) if finished else complete_lines(path)
    for records, broken in read_blocks(lines, _Line):
        good = [each for each in records if each.run < runs and each.position < tasks]
        unread += broken + len(records) - len(good)
        if good:
            blocks.append(np.array([_row(each) for each in good], float))
    table = np.concatenate(blocks)
    return [_of_run(table[table[:, 0] == run], tasks) for run in range(runs)], unread


def _row(line: _Line) -> tuple[Any, ...]:
    place = (line.run, line.step, line.position, MODES.index(line.mode))
    return (*place, line.success, line.last_success, line.mean_return)


def _of_run(table: Array, tasks: int) -> RunCurves:
    """Return the curves of one run from the rows of its records."""
    steps, row = np.unique(table[:, 1].astype(int), return_inverse=True)
    position, mode = table[:, 2].astype(int), table[:, 3].astype(int)
    fields = table[:, 4:]  # [record, field]
    rates = np.array([field in RATES for field in FIELDS])
    with np.errstate(invalid="ignore"):
        impossible = rates & ((fields < 0) | (fields > 1))
    values = np.full((len(MODES), len(steps), tasks, len(FIELDS)), np.nan)
    values[mode, row, position] = np.where(impossible, np.nan, fields)
    recorded = np.zeros(values.shape[:3], bool)
    recorded[mode, row, position] = True
    curves: dict[tuple[str, str], Array] = {
        (name, field): values[number, :, :, column]
        for number, name in enumerate(MODES)
        for column, field in enumerate(FIELDS)
    }
    blanks = int(np.sum(np.isnan(fields)))
    return RunCurves(steps, curves, recorded, blanks, tuple(fields[impossible].tolist()))
