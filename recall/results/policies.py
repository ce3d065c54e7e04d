"""Policy files of a fleet: policies/<run>/task-K.npz after each task, final.npz at the end.

A file holds `task_K`, the parameters that act on task K as one flat vector
(recall.collect.policy). The arrays are plain and are read without pickle.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from recall.errors import BadValueError
from recall.files.atomic import write_bytes
from recall.files.stamps import DamagedFileError, Stamp

Array = np.ndarray
FINAL = "final"


def write_policies(
    folder: Path, names: Sequence[str], label: str, flat: Mapping[int, Array]
) -> dict[str, Stamp]:
    """Write every run's policies; `flat` maps each task's position to policies [run, size].

    Returns the stamps of the files by their paths in the folder.
    """
    stamps = {}
    for index, name in enumerate(names):
        path = folder / "policies" / name / f"{label}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.savez(content, **{f"task_{task}": value[index] for task, value in flat.items()})
        stamps[path.relative_to(folder).as_posix()] = write_bytes(path, content.getvalue())
    return stamps


def read_policies(
    folder: Path, names: Sequence[str], tasks: int, size: int | None = None
) -> dict[int, Array]:
    """Return policies [run, size] by position: the final ones, or those of the finished tasks.

    A policy with another number of parameters than `size` is refused.
    """
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
        task: np.stack([_one(where / name / f"{label}.npz", task, size) for name in names])
        for task, label in files.items()
    }


def read_policy(
    folder: Path, name: str, position: int, label: str, size: int | None = None
) -> Array | None:
    """Return the policy [size] of one run's task from the file `label`, or None without a file."""
    path = folder / "policies" / name / f"{label}.npz"
    return _one(path, position, size) if path.exists() else None


def _one(path: Path, task: int, size: int | None) -> Array:
    try:
        with np.load(path, allow_pickle=False) as stored:
            vector: Array = stored[f"task_{task}"]
    except Exception as error:  # a damaged file can make zipfile and NumPy raise anything
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DamagedFileError(f"{path} cannot be read ({reason}): the file is damaged") from error
    expected = vector.shape if size is None else (size,)
    if vector.ndim != 1 or vector.shape != expected or vector.dtype != np.float32:
        raise DamagedFileError(
            f"{path} holds {vector.dtype} numbers of shape {vector.shape} and not the parameters "
            "of a policy of this fleet: the file or run.json was damaged or edited"
        )
    return vector
