"""Policy files of a fleet: policies/<run>/task-K.npz after each task, final.npz at the end.

recall.policies.file_format says what a file holds. Inside training, a policy is one flat vector
(recall.collect.policy).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from recall.collect.policy import PolicyShape
from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.policies.file_format import PolicyInfo, pack, read_policy_file
from recall.worlds.registry import task_label

Array = np.ndarray
FINAL = "final"


def write_policies(
    folder: Path, spec: FleetSpec, shape: PolicyShape, label: str, flat: Mapping[int, Array]
) -> None:
    """Write every run's policies; `flat` maps each task's position to policies [run, size]."""
    world = spec.settings.world
    for index, run in enumerate(spec.runs):
        target = folder / "policies" / run.name
        target.mkdir(parents=True, exist_ok=True)
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
        temporary = target / f"{label}.tmp"
        with temporary.open("wb") as file:
            arrays = pack(info, {task: value[index] for task, value in flat.items()})
            np.savez(file, **arrays)  # type: ignore[arg-type]  # names are file names
        temporary.replace(target / f"{label}.npz")


def read_policies(folder: Path, names: Sequence[str], tasks: int) -> dict[int, Array]:
    """Return policies [run, size] by position: the final ones, or those of the finished tasks."""
    where = folder / "policies"
    if all((where / name / f"{FINAL}.npz").exists() for name in names):
        files = dict.fromkeys(range(tasks), FINAL)
    else:
        files = {
            task: f"task-{task}"
            for task in range(tasks)
            if all((where / name / f"task-{task}.npz").exists() for name in names)
        }
    if not files:
        raise BadValueError(f"{folder} has no policies yet: no task is finished")
    return {
        task: np.stack([_one(where / name / f"{label}.npz", task) for name in names])
        for task, label in files.items()
    }


def read_policy(folder: Path, name: str, position: int, label: str) -> Array | None:
    """Return the policy [size] of one run's task from the file `label`, or None without a file."""
    path = folder / "policies" / name / f"{label}.npz"
    return _one(path, position) if path.exists() else None


def _one(path: Path, task: int) -> Array:
    return read_policy_file(path, (task,))[1][task]
