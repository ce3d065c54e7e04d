"""The records of evaluations.jsonl, one line per run, evaluation, task and mode, and their curves.

Records may be written late and in any order, so readers go by the step of the evaluated policies.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args

import msgspec
import numpy as np

from recall.files.fleet_layout import Count
from recall.files.reading import complete_lines, decoded, read_lines
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


_BLOCK_LINES = 512  # decoded at once, so that small compressed files cannot fill the memory
_Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Line(msgspec.Struct):
    """What curves need of a record; values that are not finite are null."""

    run: Count
    step: Count
    position: Count
    task: str
    mode: Mode
    success: _Rate | None = None
    last_success: _Rate | None = None
    mean_return: float | None = msgspec.field(default=None, name="return")

    def is_of(self, tasks: Sequence[Sequence[str]]) -> bool:
        names = tasks[self.run] if self.run < len(tasks) else ()
        return self.position < len(names) and names[self.position] == self.task

    def row(self) -> tuple[Any, ...]:
        numbers = (self.success, self.last_success, self.mean_return)
        return (self.run, self.step, self.position, MODES.index(self.mode), *numbers)


@dataclass(frozen=True)
class RunCurves:
    """The evaluation curves of one run."""

    steps: Array
    curves: dict[tuple[str, str], Array]
    recorded: Array
    """[mode, evaluation, task]: True where there is a record, whatever its values are."""
    blanks: int
    """Number of recorded values that are not finite numbers."""

    def lacks_at_end(self, modes: Sequence[int], tasks: Sequence[str], steps: int) -> str | None:
        """Return what a finished run lacks at its last step in its fleet's modes, or None.

        Metrics would silently take an earlier evaluation of a task whose last one was lost.
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
    """Return the numbers of the modes in which any run of a fleet was evaluated."""
    return [mode for mode in range(len(MODES)) if any(run.recorded[mode].any() for run in runs)]


def read_curves(
    path: Path, tasks: Sequence[Sequence[str]], finished: bool = False
) -> tuple[list[RunCurves], int]:
    """Return the curves of every run of a fleet, and the number of lines that were unusable.

    Records of other `tasks` [run][position] are, and in a `finished` fleet a line cut short.
    """
    blocks, unread = [_table([])], 0
    lines = read_lines(path) if finished else complete_lines(path)
    while block := list(islice(lines, _BLOCK_LINES)):
        rows = [each.row() for each in decoded(block, _Line) if each.is_of(tasks)]
        blocks.append(_table(rows))
        unread += len(block) - len(rows)
    table = np.concatenate(blocks)
    curves = [_of_run(table[table[:, 0] == run], len(names)) for run, names in enumerate(tasks)]
    return curves, unread


def usable(
    records: Iterable[Mapping[str, Any]], tasks: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """Return what curves need of records, without those that `read_curves` counts as unusable."""
    found = []
    for record in records:
        with contextlib.suppress(msgspec.ValidationError):
            line = msgspec.convert(record, _Line)
            if line.is_of(tasks):
                found.append(msgspec.to_builtins(line))
    return found


def _table(rows: list[tuple[Any, ...]]) -> Array:
    return np.array(rows, float).reshape(-1, 4 + len(FIELDS))


def _of_run(table: Array, tasks: int) -> RunCurves:
    """Return the curves of one run from the rows of its records."""
    steps, row = np.unique(table[:, 1].astype(int), return_inverse=True)
    position, mode = table[:, 2].astype(int), table[:, 3].astype(int)
    fields = table[:, 4:]  # [record, field]
    values = np.full((len(MODES), len(steps), tasks, len(FIELDS)), np.nan)
    values[mode, row, position] = fields
    recorded = np.zeros(values.shape[:3], bool)
    recorded[mode, row, position] = True
    curves: dict[tuple[str, str], Array] = {
        (name, field): values[number, :, :, column]
        for number, name in enumerate(MODES)
        for column, field in enumerate(FIELDS)
    }
    return RunCurves(steps, curves, recorded, int(np.sum(np.isnan(fields))))
