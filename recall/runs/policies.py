"""Policy files of a fleet: policies/<run>/task-K.npz after each task, final.npz at the end.

recall.policies.file_format says what a file holds. Inside training, a policy is one flat vector
(recall.collect.policy).
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from recall.collect.policy import PolicyShape
from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.files.atomic import write_bytes
from recall.files.fleet_layout import FINAL, is_archive, learnt, policy_path
from recall.files.stamps import DamagedFileError, Stamp
from recall.policies.file_format import DamagedPolicyError, PolicyInfo, pack, read_policy_file
from recall.policies.stored import has_policies, missing
from recall.runs.fleet_folder import all_failed, is_finished
from recall.runs.way_out import ending_again
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
        raise BadValueError(missing(folder, "policies"))
    return kept


def read_policies(
    folder: Path, names: Sequence[str], tasks: int, size: int | None = None
) -> dict[int, Array]:
    """Return policies [run, size] by position: the final ones, or those of the finished tasks.

    A policy with another number of parameters than `size` is refused.
    """

    def complete(label: str) -> bool:
        return all(policy_path(folder, name, label).exists() for name in names)

    if complete(FINAL):
        files = dict.fromkeys(range(tasks), FINAL)
    else:
        files = {task: learnt(task) for task in range(tasks) if complete(learnt(task))}
        if not files:
            raise BadValueError(missing(folder, "policies"))
        if is_finished(folder) and not all_failed(folder):
            # What was just learnt is no substitute: nothing would seem forgotten. Resuming needs
            # the policies of all tasks.
            again = ending_again(folder) if len(files) == tasks else None
            raise BadValueError(
                missing(folder, "final policies") + (f", or {again}" if again else "")
            )
    return {
        task: np.stack([_one(policy_path(folder, name, label), task, size) for name in names])
        for task, label in files.items()
    }


def read_policy(
    folder: Path, name: str, position: int, label: str, size: int | None = None
) -> Array | None:
    """Return the policy [size] of one run's task from the file `label`, or None without a file."""
    path = policy_path(folder, name, label)
    return _one(path, position, size) if path.exists() else None


def _one(path: Path, task: int, size: int | None) -> Array:
    try:
        vector = read_policy_file(path, (task,))[1][task]
    except DamagedPolicyError as error:
        again = ending_again(path.parents[2]) if path.stem == FINAL else None
        if again is None:
            raise
        raise DamagedPolicyError(f"{error}, or {again}") from error
    if size is not None and vector.size != size:
        raise DamagedFileError(
            f"{path} holds a policy of {vector.size} parameters and not one of this fleet, which "
            f"has {size}: the file or run.json was damaged or edited"
        )
    return vector
