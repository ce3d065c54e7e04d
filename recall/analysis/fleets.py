"""Reading of the runs in one fleet's folder, with the problems found there."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recall.analysis.departures import settings_of, settings_of_preset
from recall.analysis.run_result import RunResult
from recall.errors import RecallError
from recall.files.fleet_layout import (
    DESCRIPTION,
    OUTCOME,
    Outcome,
    Status,
    check_written,
    failures_in,
    is_archive,
    read_outcome,
    status,
)
from recall.runs.description import is_edited, read_description, tasks_without_success_flag
from recall.runs.evaluations import RunCurves, read_curves, recorded_modes
from recall.runs.fleet_folder import resume_command
from recall.runs.json_lines import find_records
from recall.runs.training_records import read_warnings
from recall.runs.wording import counted, few

_MOST_SHOWN = 4


def read_fleet(folder: Path) -> tuple[list[RunResult], list[str]]:
    """Return every run of the fleet that has been evaluated at least once, and the problems."""
    try:
        description = read_description(folder)
        runs, problems = _runs(folder, description)
        return runs, _edited(folder, description) + problems
    except RecallError as error:
        return [], [f"{error}. {folder} is left out."]
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        return [], [f"{folder} cannot be read ({_reason(error)}): left out."]


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{DESCRIPTION} is not valid JSON: {error}"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError):
        return f"{DESCRIPTION} lacks {error}"
    return f"{DESCRIPTION} does not have the expected content: {error}"


def _check_kinds(settings: Mapping[str, Any], method: str) -> None:
    """Raise ValueError if a setting that is a number by default is something else."""
    for name, default in settings_of_preset(method).items():
        value = settings.get(name)
        if isinstance(default, int | float) and not isinstance(value, int | float | None):
            raise ValueError(f"{name} is {str(value)[:80]!r}")


def _runs(folder: Path, description: dict[str, Any]) -> tuple[list[RunResult], list[str]]:
    path = find_records(folder, "evaluations")
    listed = description["runs"]
    tasks = len(listed[0]["tasks"])
    per_task = int(description["settings"]["schedule"]["steps_per_task"])
    settings = settings_of(description)
    _check_kinds(settings, description["method"]["name"])
    if not path.exists() or not path.stat().st_size:
        return [], [_never_evaluated(folder, path), *_warned(folder, listed)]
    outcome, problems = _outcome(folder)
    finished = outcome is not None
    curves, unread = read_curves(path, len(listed), tasks, finished)
    modes = recorded_modes(curves)
    warnings, unreadable = read_warnings(folder, finished)
    problems += [unreadable] if unreadable else []
    if unread:
        were = "line cannot be used and was" if unread == 1 else "lines cannot be used and were"
        problems.append(f"{path}: {unread} {were} left out.")
    runs = []
    for index, (run, found) in enumerate(zip(listed, curves, strict=True)):
        failed_at = outcome.failed.get(run["name"]) if outcome is not None else None
        lost = None
        if finished and failed_at is None:
            lost = found.lacks_at_end(modes, run["tasks"], tasks * per_task)
        result = RunResult(
            name=run["name"],
            folder=folder,
            method=description["method"]["name"],
            sequence=run["sequence"],
            tasks=tuple(run["tasks"]),
            seed=run["seed"],
            steps_per_task=per_task,
            steps=found.steps,
            curves=found.curves,
            settings=settings,
            description=description,
            index=index,
            finished=finished,
            recorded=lost is None,
            failed_at=failed_at,
            warnings=warnings.get(index, ()),
            without_success=tasks_without_success_flag(description, run["tasks"]),
        )
        problems += _wrong_with(result, found, lost)
        if len(found.steps):
            runs.append(result)
    return runs, problems + _unfinished(folder, runs)


def _never_evaluated(folder: Path, path: Path) -> str:
    try:
        found, failed = status(folder), failures_in(folder)
    except RecallError as error:
        return f"{error}. {folder} has no evaluations: left out."
    if failed:
        return f"{folder} has no evaluations, since {failed}: left out."
    if found is Status.FINISHED:
        return (
            f"{folder} is finished, but its evaluations are missing: restore {path.name} from a "
            "copy. It is left out."
        )
    return f"{folder} has no evaluations yet: left out."


def _outcome(folder: Path) -> tuple[Outcome | None, list[str]]:
    """Return the content of outcome.json (None before the end) and the problems."""
    try:
        outcome = read_outcome(folder)
    except RecallError as error:
        return None, [f"{error}. Until then its fleet is treated as unfinished."]
    try:
        check_written(folder)
    except RecallError as error:
        return outcome, [f"{error}. Until then, what is shown of it need not be what it recorded."]
    return outcome, []


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
            f"{where}: {counted(found.blanks, 'recorded value is', 'recorded values are')} not "
            f"{'a number' if found.blanks == 1 else 'numbers'}; {_left_out(found.blanks)}"
        )
    if count := len(found.impossible):
        shown = few(dict.fromkeys(f"{value:g}" for value in found.impossible), _MOST_SHOWN)
        problems.append(
            f"{where}: {counted(count, 'recorded success rate is', 'recorded success rates are')} "
            f"outside [0, 1] ({shown}); {_left_out(count)}"
        )
    return problems


def _left_out(count: int) -> str:
    return f"{'it is' if count == 1 else 'they are'} left out of its means."


def _warned(folder: Path, listed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the health warnings of a fleet that has not been evaluated yet."""
    warnings, _ = read_warnings(folder)
    return [
        f"{listed[index]['name']} in {folder} at step {each['step']:,}: {each['message']}."
        for index, found in warnings.items()
        if 0 <= index < len(listed)
        for each in found
    ]


def _edited(folder: Path, description: Mapping[str, Any]) -> list[str]:
    if not is_edited(dict(description)):
        return []
    return [
        f"{folder / DESCRIPTION} was edited after the fleet was started: its runs are shown with "
        "settings, steps and tasks that need not be theirs. Undo the edit."
    ]


def _unfinished(folder: Path, runs: list[RunResult]) -> list[str]:
    if (folder / OUTCOME).exists() or not runs:  # a damaged outcome.json has its own sentence
        return []
    step = max(int(run.steps[-1]) for run in runs)
    way_on = "" if is_archive(folder) else f" Continue it with `{resume_command(folder)}`."
    return [
        f"{folder} is unfinished, at step {step:,} of {runs[0].total_steps:,}: its runs are in the "
        f"curves and in provisional tables, and left out of the others.{way_on}"
    ]
