"""Policy files of a fleet: policies/<run>/task-K.npz after each task, final.npz at the end."""

import io
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from recall.collect.policy import PolicyShape
from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.files.atomic import write_bytes
from recall.files.fleet_layout import (
    FINAL,
    Status,
    is_archive,
    learned,
    policy_path,
    policy_paths,
    status,
)
from recall.files.stamps import DamagedFileError, Stamp
from recall.policies.file_format import PolicyInfo, pack
from recall.policies.policy import missing, read_stored
from recall.worlds.registry import task_label

Array = np.ndarray


def write_policies(
    folder: Path, spec: FleetSpec, shape: PolicyShape, label: str, flat: Mapping[int, Array]
) -> dict[str, Stamp]:
    """Write every run's policies `flat` [position][run, size]; return the files' stamps by path."""
    world = spec.settings.world
    stamps = {}
    for index, run in enumerate(spec.runs):
        path = policy_path(folder, run.name, label)
        path.parent.mkdir(parents=True, exist_ok=True)
        tasks = tuple(task_label(task) for task in run.tasks)
        environment = (world.reward, world.observation, world.horizon_steps)
        info = PolicyInfo(spec.method.name, run.name, run.seed, tasks, *environment, shape)
        content = io.BytesIO()
        arrays = pack(info, {task: value[index] for task, value in flat.items()})
        np.savez(content, **arrays)  # type: ignore[arg-type]  # names are file names
        stamps[path.relative_to(folder).as_posix()] = write_bytes(path, content.getvalue())
    return stamps


def runs_with_policies(folder: Path, names: Sequence[str]) -> list[int]:
    """Return the indices of the runs that are expected to have policies: archives keep few."""
    if not is_archive(folder):
        return list(range(len(names)))
    kept = [index for index, name in enumerate(names) if policy_paths(folder, name)]
    if not kept:
        raise BadValueError(missing(folder, "policies"))
    return kept


def read_policies(folder: Path, runs: Mapping[str, Sequence[str]], size: int) -> dict[int, Array]:
    """Return policies [run, size] by position: the final ones, or those of the finished tasks.

    `runs` maps names of runs to their tasks.
    """
    tasks = range(len(next(iter(runs.values()))))
    positions = {
        label: at
        for label, at in {FINAL: list(tasks), **{learned(task): [task] for task in tasks}}.items()
        if all(policy_path(folder, name, label).exists() for name in runs)
    }
    if FINAL in positions:
        positions = {FINAL: positions[FINAL]}
    elif status(folder) is Status.FINISHED:
        # What was just learned is no substitute: nothing would seem forgotten.
        raise BadValueError(missing(folder, "final policies"))
    if not positions:
        raise BadValueError(missing(folder, "policies"))
    found: dict[int, list[Array]] = {}
    for label, (name, names) in product(positions, runs.items()):
        vectors = read_stored(folder, name, label, positions[label], names)[1]
        for position, vector in vectors.items():
            if vector.size != size:
                raise DamagedFileError(
                    f"{policy_path(folder, name, label)} holds a policy of {vector.size} "
                    f"parameters and not {size}: the file or run.json was damaged or edited"
                )
            found.setdefault(position, []).append(vector)
    return {position: np.stack(vectors) for position, vectors in found.items()}
