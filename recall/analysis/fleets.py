"""Reading of the runs in one fleet's folder, with the problems found there."""

from pathlib import Path
from typing import Any

from recall.analysis.departures import settings_of, settings_of_preset
from recall.analysis.run_result import RunResult
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
from recall.runs.description import WITHOUT_SUCCESS, is_edited, read_description
from recall.runs.evaluations import RunCurves, read_curves, recorded_modes
from recall.runs.fleet_folder import resume_command
from recall.runs.training_records import read_warnings
from recall.runs.wording import counted


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
