"""Policy files of a fleet: policies/<run>/task-K.npz after each task, final.npz at the end.

recall.policies.file_format says what a file holds. Inside training, a policy is one flat vector
(recall.collect.policy).
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from recall.collect.policy import PolicyShape
from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.files.atomic import write_bytes
from recall.files.fleet_layout import (
    FINAL,
    Status,
    check_written,
    is_archive,
    learnt,
    policy_path,
    policy_paths,
    status,
)
from recall.files.stamps import DamagedFileError, Stamp
from recall.policies.file_format import PolicyInfo, pack, read_policy_file
from recall.runs.fleet_folder import failures_in
from recall.worlds.registry import task_label

Array = np.ndarray


def write_policies(
    folder: Path, spec: FleetSpec, shape: PolicyShape, label: str, flat: Mapping[int, Array]
) -> dict[str, Stamp]:
    """Write every run's policies; `flat` maps each task's position to policies [run, size].

    Returns the stamps of the files by their paths in the folder.
    """
    world = spec.settings.world
    stamps = {}
    for index, run in enumerate(spec.runs):
        path = policy_path(folder, run.name, label)
        path.parent.mkdir(parents=True, exist_ok=True)
        info = PolicyInfo(
            spec.method.name,
            run.name,
            run.seed,
            tuple(task_label(task) for task in run.tasks),
            world.reward,
            world.observation,
            world.horizon_steps,
            shape,
        )
        content = io.BytesIO()
        arrays = pack(info, {task: value[index] for task, value in flat.items()})
        np.savez(content, **arrays)  # type: ignore[arg-type]  # names are file names
        stamps[path.relative_to(folder).as_posix()] = write_bytes(path, content.getvalue())
    return stamps


def runs_with_policies(folder: Path, names: Sequence[str]) -> list[int]:
    """Return the indices of the runs that are expected to have policies.

    These are all runs of a fleet, but an archive keeps the policies of some runs or of none.
    """
    if not is_archive(folder):
        return list(range(len(names)))
    kept = [index for index, name in enumerate(names) if has_policies(folder, name)]
    if not kept:
        raise BadValueError(no_policies(folder))
    return kept


def has_policies(folder: Path, name: str) -> bool:
    """Return True if a folder has a policy of the run `name`."""
    return bool(policy_paths(folder, name))


def no_policies(folder: Path, what: str = "policies") -> str:
    """Return why a folder lacks `what`, such as "final policies", and what helps."""
    if is_archive(folder):
        return f"{folder} was archived without {what}: `recall archive --policies` keeps them"
    found = status(folder)
    if found is Status.FINISHED:
        return f"{folder} is finished, but its {what} are missing: restore them from a copy"
    if found is Status.FAILED:
        return f"{folder} has no {what}: {failures_in(folder)}"
    return f"{folder} has no {what} yet: it is not finished"


def read_policies(
    folder: Path, runs: Mapping[str, Sequence[str]], size: int | None = None
) -> dict[int, Array]:
    """Return policies [run, size] by position: the final ones, or those of the finished tasks.

    `runs` maps names of runs to their tasks. A policy with another number of parameters than `size`
    is refused.
    """
    tasks = range(len(next(iter(runs.values()))))

    def complete(label: str) -> bool:
        return all(policy_path(folder, name, label).exists() for name in runs)

    if complete(FINAL):
        labels = dict.fromkeys(tasks, FINAL)
    elif status(folder) is Status.FINISHED:
        # What was just learnt is no substitute: nothing would seem forgotten.
        raise BadValueError(no_policies(folder, "final policies"))
    else:
        labels = {task: learnt(task) for task in tasks if complete(learnt(task))}
    if not labels:
        raise BadValueError(no_policies(folder))
    found: dict[int, list[Array]] = {position: [] for position in labels}
    for name, names in runs.items():
        for label in dict.fromkeys(labels.values()):
            positions = [position for position, each in labels.items() if each == label]
            for position, vector in _read(folder, name, label, positions, names, size).items():
                found[position].append(vector)
    return {position: np.stack(vectors) for position, vectors in found.items()}


def read_policy(
    folder: Path,
    name: str,
    position: int,
    label: str,
    tasks: Sequence[str] | None = None,
    size: int | None = None,
) -> Array | None:
    """Return the policy [size] of one run's task from the file `label`, or None without a file.

    A file of a run with other `tasks` is refused.
    """
    if not policy_path(folder, name, label).exists():
        return None
    return _read(folder, name, label, [position], tasks, size)[position]


def _read(
    folder: Path,
    name: str,
    label: str,
    positions: Iterable[int],
    tasks: Sequence[str] | None,
    size: int | None,
) -> dict[int, Array]:
    """Return policies by position from one file, which must be of this run as it was trained."""
    path = policy_path(folder, name, label)
    check_written(folder, [path])
    info, vectors = read_policy_file(path, positions)
    sizes = {vector.size for vector in vectors.values()}
    if (
        info.run != name
        or (tasks is not None and info.tasks != tuple(tasks))
        or not (size is None or sizes == {size})
    ):
        raise DamagedFileError(
            f"{path} holds the policy of another run, {info.run} on {', '.join(info.tasks)}: the "
            "file was replaced, or run.json was edited; restore it from a copy"
        )
    return vectors
