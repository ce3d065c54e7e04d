"""The policies that the folder of a fleet holds: which run is meant, and why one is missing."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from recall.errors import BadValueError, UnknownNameError
from recall.files.fleet_layout import (
    DESCRIPTION,
    Status,
    StoredRun,
    check_written,
    failures_in,
    is_archive,
    no_fleet,
    policy_path,
    policy_paths,
    status,
)
from recall.files.reading import read_json
from recall.files.stamps import DamagedFileError
from recall.policies.file_format import PolicyInfo, read_policy_file
from recall.worlds.task_names import TaskName, numbered, positions_of

TRAINED = Path(__file__).with_name("trained")
"""An archive that comes with the package, of runs which together learned every robot task."""


class _Description(msgspec.Struct):
    """The part of run.json that is read here."""

    runs: Annotated[list[StoredRun], msgspec.Meta(min_length=1)]


def trained_tasks() -> list[str]:
    """Return the names of the tasks that policies of the package have learned."""
    runs = read_json(TRAINED / DESCRIPTION, kind=_Description).runs
    return sorted({task for run in runs for task in run.tasks})


def is_trained(name: Path) -> bool:
    """Return True if `name` is no path, but one of these tasks."""
    return not name.exists() and str(name) in trained_tasks()


def chosen_run(
    folder: Path,
    run: str | None = None,
    seed: int | None = None,
    tasks: Sequence[TaskName] = (),
) -> StoredRun:
    """Return the first run with policies that is `run`, has the seed and all tasks."""
    if not folder.is_dir():
        what = f"{folder} is no policy file" if folder.exists() else f"there is no folder {folder}"
        raise BadValueError(
            f"{what}: give that of a fleet, one of its policy files, or a robot task"
        )
    if not (folder / DESCRIPTION).exists():
        raise BadValueError(missing(folder, "policies"))
    runs = read_json(folder / DESCRIPTION, kind=_Description).runs
    if run is not None and run not in [each.name for each in runs]:
        raise UnknownNameError("run of this fleet", run, [each.name for each in runs])
    matching = [each for each in runs if run in (None, each.name) and seed in (None, each.seed)]
    if not matching:
        seeds = " ".join(map(str, dict.fromkeys(each.seed for each in runs)))
        raise BadValueError(
            f"{run or 'a run'} with seed {seed} does not exist; the fleet's seeds are {seeds}"
        )
    for task in tasks:
        if not any(positions_of(task, each.tasks) for each in matching):
            known = dict.fromkeys(shown for each in matching for shown in numbered(each.tasks))
            where = f"run {matching[0].name}" if len(matching) == 1 else "this fleet"
            raise UnknownNameError(f"task of {where}", task, known)
    having = [each for each in matching if all(positions_of(task, each.tasks) for task in tasks)]
    if not having:
        raise BadValueError(f"no single run has all of the tasks {', '.join(map(str, tasks))}")
    for each in having:
        if policy_paths(folder, each.name):
            return each
    raise BadValueError(missing(folder, f"policies of {having[0].name}"))


def missing(folder: Path, what: str) -> str:
    """Return why a folder lacks `what`, such as "final policies", and what to do about it."""
    if is_archive(folder):
        return (
            f"{folder} was archived without {what}: `recall archive --policies` keeps those of "
            "chosen runs, and --policies-at says which"
        )
    if not (folder / DESCRIPTION).exists():
        return no_fleet(folder)
    found = status(folder)
    if found is Status.FAILED:
        return f"{folder} has no {what}: {failures_in(folder)}"
    if found is not Status.FINISHED:
        return f"{folder} has no {what} yet: it is not finished"
    return f"{folder} is finished, but its {what} are missing: restore them from a copy"


def read_stored(
    folder: Path,
    run: str,
    label: str,
    positions: Iterable[int] | None = None,
    tasks: Sequence[str] | None = None,
) -> tuple[PolicyInfo, dict[int, np.ndarray]]:
    """Read a policy file of a fleet; return its info and the flat policies by position.

    Raises DamagedFileError if it is not what the fleet wrote, or is of another run or other tasks.
    """
    path = policy_path(folder, run, label)
    check_written(folder, [path])
    info, vectors = read_policy_file(path, positions)
    if info.run != run or (tasks is not None and info.tasks != tuple(tasks)):
        raise DamagedFileError(
            f"{path} holds the policy of another run, {info.run} on {', '.join(info.tasks)}: "
            "restore it from a copy"
        )
    return info, vectors
