"""One run as reports use it: its identity, curves and records, read from the folder of a fleet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from recall.analysis.departures import DEFAULT, settings_of, settings_of_preset
from recall.analysis.metrics import Curves
from recall.errors import RecallError
from recall.files.fleet_layout import (
    DESCRIPTION,
    Status,
    check_written,
    failures_in,
    find_records,
    is_archive,
    read_outcome,
    status,
    training_every,
)
from recall.methods import METHODS
from recall.runs.description import WITHOUT_SUCCESS, is_edited, read_description
from recall.runs.evaluations import FIELDS, MODES, RATES, RunCurves, read_curves, recorded_modes
from recall.runs.fleet_folder import resume_command
from recall.runs.training_records import Columns, read_training, read_warnings
from recall.runs.wording import counted

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


def read_fleet(folder: Path) -> tuple[list[RunResult], list[str]]:
    """Return every run of the fleet that has been evaluated at least once, and the problems."""
    try:
        description = read_description(folder)
        runs, problems = _runs(folder, description)
    except RecallError as error:
        return [], [f"{error}. {folder} is left out."]
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        # Settings are of the method and of the version of the package that wrote them.
        return [], [f"{folder} cannot be read ({error}): left out."]
    if is_edited(description):
        problems.insert(
            0,
            f"{folder / DESCRIPTION} was edited after the fleet was started: its runs are shown "
            "with settings, steps and tasks that need not be theirs. Undo the edit.",
        )
    return runs, problems


def _runs(folder: Path, description: dict[str, Any]) -> tuple[list[RunResult], list[str]]:
    path = find_records(folder, "evaluations")
    listed, method = description["runs"], description["method"]["name"]
    tasks = len(listed[0]["tasks"])
    per_task = int(description["settings"]["schedule"]["steps_per_task"])
    settings, silent = settings_of(description), description.get(WITHOUT_SUCCESS, ())
    for name, default in settings_of_preset(method).items():
        value = settings.get(name)
        if isinstance(default, int | float) and not isinstance(value, int | float | None):
            raise ValueError(f"{name} is {str(value)[:80]!r}")
    warnings, unreadable = read_warnings(folder)
    if not path.exists() or not path.stat().st_size:
        warned = [
            f"{listed[run]['name']} in {folder} at step {each['step']:,}: {each['message']}."
            for run, found in warnings.items()
            for each in found
            if run < len(listed)
        ]
        return [], [_never_evaluated(folder, path), *warned]
    outcome, problems = read_outcome(folder), list[str]()
    finished, failed = outcome is not None, outcome.failed if outcome else {}
    try:
        check_written(folder)
    except RecallError as error:
        problems.append(f"{error}. Until then, what is shown of it need not be what it recorded.")
    curves, unread = read_curves(path, [run["tasks"] for run in listed], finished)
    modes = recorded_modes(curves)
    problems += [unreadable] if unreadable else []
    if unread:
        problems.append(f"{path}: {counted(unread, 'line')} cannot be used: left out.")
    runs = []
    for index, (run, found) in enumerate(zip(listed, curves, strict=True)):
        failed_at, lost = failed.get(run["name"]), None
        if finished and failed_at is None:
            lost = found.lacks_at_end(modes, run["tasks"], tasks * per_task)
        own = {name.removeprefix("settings."): each for name, each in run.get("own", {}).items()}
        result = RunResult(
            name=run["name"],
            folder=folder,
            method=method,
            sequence=run["sequence"],
            tasks=tuple(run["tasks"]),
            seed=run["seed"],
            steps_per_task=per_task,
            steps=found.steps,
            curves=found.curves,
            settings=settings | own,
            description=description,
            index=index,
            finished=finished,
            recorded=lost is None,
            failed_at=failed_at,
            warnings=warnings.get(index, ()),
            training_every=training_every(folder),
            without_success=tuple(task for task in dict.fromkeys(run["tasks"]) if task in silent),
        )
        problems += _wrong_with(result, found, lost)
        if len(found.steps):
            runs.append(result)
    if runs and not finished:
        problems.append(_unfinished(folder, runs))
    return runs, problems


def _unfinished(folder: Path, runs: list[RunResult]) -> str:
    step = max(int(run.steps[-1]) for run in runs)
    way_on = "" if is_archive(folder) else f" Continue it with `{resume_command(folder)}`."
    return (
        f"{folder} is unfinished, at step {step:,} of {runs[0].total_steps:,}: its runs are in the "
        f"curves and left out of the tables.{way_on}"
    )


def _never_evaluated(folder: Path, path: Path) -> str:
    if failed := failures_in(folder):
        return f"{folder} has no evaluations, since {failed}: left out."
    if status(folder) is Status.FINISHED:
        return (
            f"{folder} is finished, but its evaluations are missing: restore {path.name} from a "
            "copy. It is left out."
        )
    return f"{folder} has no evaluations yet: left out."


def _wrong_with(run: RunResult, found: RunCurves, lost: str | None) -> list[str]:
    """Return what is wrong with a run that `lost` records at its end."""
    where = f"{run.name} in {run.folder}"
    problems = []
    if run.failed_at is not None:
        problems.append(
            f"{where} failed at step {run.failed_at:,}: it is in the curves up to there but left "
            "out of the tables."
        )
    elif not len(found.steps):
        problems.append(f"{where} has no evaluations: left out.")
    elif lost is not None:
        problems.append(
            f"{where} is finished, but {lost}: it is in the curves but left out of the tables. "
            "Restore its evaluations from a copy."
        )
    if found.blanks:
        problems.append(
            f"{where}: {counted(found.blanks, 'recorded value')} without a number, left out of its "
            "means."
        )
    return problems
