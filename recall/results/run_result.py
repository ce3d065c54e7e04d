"""One run as reports see it: who it was, its success curves, and its training records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from recall.results.curves import FIELDS, MODES
from recall.results.metrics import Curves
from recall.results.training_records import Training, read_training

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class RunResult:
    """One method, one sequence, one seed, and how it went.

    `curves[mode, field]` is [evaluation, task] at `steps` [evaluation]; NaN stands where nothing
    was recorded. Training records are read from the folder when they are first asked for.
    """

    name: str
    folder: Path
    method: str
    """The registry's name of it."""
    sequence: str
    tasks: tuple[str, ...]
    seed: int
    steps_per_task: int
    steps: Array
    curves: Mapping[tuple[str, str], Array]
    label: str = ""
    """What tables and figures call it: the method's label, and the variant where there are
    several."""
    variant: str = ""
    """What sets it apart from the method's defaults and from other runs of the method, in words."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The same as settings and their values."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Every setting by its dotted name, those of the method as `method.<name>`."""
    description: Mapping[str, Any] = field(default_factory=dict)
    """run.json, or the imported configuration: versions, machine, command, settings."""
    index: int = 0
    """Which of its fleet's runs it is."""
    finished: bool = True
    failed_at: int | None = None
    """The step at which its numbers stopped being numbers, if they did."""
    warnings: tuple[dict[str, Any], ...] = ()
    """The records of its health warnings (recall.results.health)."""
    seconds: float | None = None
    """Of its fleet's training, divided by the fleet's runs, where a study noted it."""
    source: str = "recall"
    """Whose records these are: `recall` or `continual_world`."""

    @property
    def total_steps(self) -> int:
        """Steps of the whole sequence."""
        return len(self.tasks) * self.steps_per_task

    @property
    def complete(self) -> bool:
        """Whether it was trained and recorded to its end."""
        return self.finished and self.failed_at is None

    @cached_property
    def world(self) -> tuple[Any, ...]:
        """What decides how hard its tasks are: runs that differ here are not compared."""
        shown = {name: value for name, value in self.settings.items() if name.startswith("world.")}
        return (self.source, str(sorted(shown.items())))

    def curve(self, mode: str = MODES[0], field: str = FIELDS[0]) -> Curves:
        """The curves of one mode and field, as the metrics take them."""
        return Curves(
            self.name, self.tasks, self.steps_per_task, self.steps, self.curves[mode, field]
        )

    @cached_property
    def training(self) -> dict[str, Array]:
        """The columns of its training records: `step` [record], others [record] or [record, task].

        Empty where there are none. NaN stands where a record lacks a number.
        """
        return self._records.columns

    @property
    def head_choices(self) -> list[dict[str, Any]]:
        """What every old head earned at the start of each task, and which was taken."""
        return self._records.choices

    @property
    def training_problem(self) -> str | None:
        """What is wrong with the training records, if they were read and something is."""
        read = vars(self).get("_records")
        return None if read is None else read.problem

    @cached_property
    def _records(self) -> Training:
        return read_training(self.folder, self.index, len(self.tasks))
