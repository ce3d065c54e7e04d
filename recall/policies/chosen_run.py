"""Choice of the run whose policy is loaded, and why there is none."""

from pathlib import Path

from recall.errors import BadValueError, RecallError, UnknownNameError
from recall.files.fleet_layout import (
    DESCRIPTION,
    POLICIES,
    Status,
    fleets_below,
    is_archive,
    status,
)
from recall.files.reading import read_json
from recall.worlds.task_names import TaskName, numbered, positions_of

_MOST_NAMED = 3


def chosen_run(folder: Path, task: TaskName | None, run: str | None) -> str:
    """Return the name of the run that is meant: `run`, or the first that has the task."""
    if not folder.is_dir():
        what = f"{folder} is no policy file" if folder.exists() else f"there is no folder {folder}"
        raise BadValueError(f"{what}: give that of a fleet, or one of its policy files")
    tasks = _tasks_of_runs(folder)
    there = {path.name for path in (folder / POLICIES).glob("*") if path.is_dir()}
    if not there:
        raise BadValueError(_no_policies(folder))
    # The order of run.json, so that seed 2 comes before seed 10.
    kept = [name for name in tasks if name in there] or sorted(there)
    having = [
        name
        for name in kept
        if not isinstance(task, str) or positions_of(task, tasks.get(name, ()))
    ]
    if run is not None:
        if run not in there:
            raise _without_policies(folder, run, kept, tasks)
        if run in tasks and run not in having:
            where = f"Runs that have it: {', '.join(having)} (run=, --run)." if having else ""
            raise UnknownNameError(f"task of run {run}", task, numbered(tasks[run]), where)
        return run
    if having or not tasks:
        return (having or kept)[0]
    known = dict.fromkeys(each for name in kept for each in numbered(tasks.get(name, ())))
    others = [
        name for name, names in tasks.items() if task is not None and positions_of(task, names)
    ]
    why = f"Runs whose policies are not in {folder} have it: {', '.join(others)}." if others else ""
    raise UnknownNameError(f"task of the runs in {folder}", task, known, why)


def _tasks_of_runs(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the tasks of the runs in run.json by name; none if it is missing or damaged."""
    try:
        runs = read_json(folder / DESCRIPTION)["runs"]
        return {str(run["name"]): tuple(map(str, run["tasks"])) for run in runs}
    except (RecallError, KeyError, TypeError):
        return {}


def _no_policies(folder: Path) -> str:
    if is_archive(folder):
        return (
            f"{folder} was archived without policies: `recall archive --policies` keeps those "
            "of chosen runs"
        )
    if is_finished(folder):
        return missing(folder, "policies")
    if below := [path.name for path in fleets_below(folder)]:
        named = ", ".join(below[:_MOST_NAMED]) + (", ..." if len(below) > _MOST_NAMED else "")
        return f"{folder} is no fleet, but a folder of fleets: name one of them ({named})"
    return f"{folder} has no policies: it is no fleet, or no task is finished"


def _without_policies(
    folder: Path, run: str, kept: list[str], tasks: dict[str, tuple[str, ...]]
) -> RecallError:
    """Return the error for a run that has no policies in a folder that has those of others."""
    if run not in tasks:
        return UnknownNameError("run of this fleet", run, tasks or kept)
    if is_archive(folder):
        return BadValueError(
            f"the policies of run {run} were not archived in {folder}, only those of "
            f"{', '.join(kept)}: `recall archive --policies` keeps those of chosen runs"
        )
    if is_finished(folder):
        return BadValueError(missing(folder, f"policies of run {run}"))
    return BadValueError(f"{folder} has no policies of run {run} yet: no task is finished")


def missing(folder: Path, what: str) -> str:
    """Return the message about policies that should be there."""
    return f"{folder} is finished, but its {what} are missing: restore them from a copy"


def is_finished(folder: Path) -> bool:
    """Return True if outcome.json says that training reached its end; not every run failed."""
    return status(folder) is Status.FINISHED
