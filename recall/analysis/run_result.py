"""One run as reports use it: its identity, success curves and training records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from recall.analysis.departures import DEFAULT
from recall.analysis.metrics import Curves
from recall.methods import METHODS
from recall.runs.evaluations import FIELDS, MODES, RATES
from recall.runs.training_records import Columns, read_training

Array = np.ndarray


def is_multi_task(method: str) -> bool:
    """Return True if a method trains all tasks at once, so that tasks have no stages."""
    return method in METHODS and METHODS[method]().collects == "all"


@dataclass(frozen=True, eq=False)
class RunResult:
    """The result of one run: one method on one sequence with one seed.

    `curves[mode, field]` is [evaluation, task] at `steps` [evaluation], with NaN where nothing was
    recorded. It was written by the code `source`: `recall` or `continual_world`.
    """

    name: str
    folder: Path
    method: str
    sequence: str
    tasks: tuple[str, ...]
    seed: int
    steps_per_task: int
    steps: Array
    curves: Mapping[tuple[str, str], Array]
    label: str = ""
    variant: str = ""
    """How its settings differ from those of its preset, in words and as `changes`."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    preset: str = DEFAULT
    """The preset that its settings are nearest to."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Every setting by dotted name; the method's settings are `method.<name>`."""
    description: Mapping[str, Any] = field(default_factory=dict)
    """run.json, or the imported configuration: versions, machine, command, settings."""
    index: int = 0
    finished: bool = True
    recorded: bool = True
    """False if it is finished, but its evaluations at its last step are lost."""
    failed_at: int | None = None
    warnings: tuple[dict[str, Any], ...] = ()
    """The records of its health warnings (recall.runs.health)."""
    training_every: int | None = None
    """In how many steps one training record is left, if its archive was thinned."""
    without_success: tuple[str, ...] = ()
    """The tasks of which no success is known; theirs is recorded as 0."""
    source: str = "recall"
    training_problem: str | None = None
    """What is wrong with the training records, once they were read."""

    @property
    def total_steps(self) -> int:
        """The number of steps of the whole sequence."""
        return len(self.tasks) * self.steps_per_task

    @property
    def complete(self) -> bool:
        """Whether the run was trained and recorded to its end."""
        return self.finished and self.recorded and self.failed_at is None

    @property
    def state(self) -> str:
        """How the run ended, in words."""
        if self.failed_at is not None:
            return f"failed at {self.failed_at:,}"
        if not self.recorded:
            return "evaluations lost"
        return "finished" if self.finished else "unfinished"

    @property
    def reports_success(self) -> bool:
        """Return True unless no task of the run reports success."""
        return not set(self.tasks) <= set(self.without_success)

    @property
    def reached(self) -> set[str]:
        """The tasks that were solved in at least one evaluation."""
        curves = [curve for (_, name), curve in self.curves.items() if name == FIELDS[0]]
        solved = np.any([(curve > 0).any(axis=0) for curve in curves], axis=0)
        return {task for task, found in zip(self.tasks, solved, strict=True) if found}

    @cached_property
    def world(self) -> tuple[Any, ...]:
        """Return what decides how hard the tasks are; runs that differ in it are not compared."""
        shown = {name: value for name, value in self.settings.items() if name.startswith("world.")}
        return (self.source, str(sorted(shown.items())))

    def curve(self, mode: str = MODES[0], field: str = FIELDS[0]) -> Curves:
        """Return the curves of one mode and field, as the metrics take them.

        The success of tasks that do not report it is NaN; the records have 0 there.
        """
        values = self.curves[mode, field]
        if self.without_success and field in RATES:
            silent = [task in self.without_success for task in self.tasks]
            values = np.where(silent, np.nan, values)
        # The trainer evaluates the end of every stage; logs of other programs need not have it.
        ends = self.source == "recall" and not is_multi_task(self.method)
        return Curves(self.tasks, self.steps_per_task, self.steps, values, ends)

    @cached_property
    def training(self) -> Columns:
        """Return the columns of the training records: `step` [record], others [record(, task)].

        The result is empty if there are none. NaN stands for numbers that a record lacks.
        """
        columns, problem = read_training(self.folder, self.index, len(self.tasks))
        object.__setattr__(self, "training_problem", problem)
        return columns
