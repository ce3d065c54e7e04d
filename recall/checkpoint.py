"""Checkpoints: everything that decides a fleet's future, and a log of all transitions.

The learner's state goes through orbax, into a new folder that is renamed when it is whole; the
last two are kept. Transitions are appended to a log as they come and never rewritten; a
checkpoint says how much of the log it stands for. No pickle is read back.
"""

import logging
import os
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np

from recall.errors import RecallError

Array = np.ndarray

logging.getLogger("absl").setLevel(logging.ERROR)  # orbax tells of every step


class NoCheckpointError(RecallError):
    """A folder without a checkpoint that can be read."""


class Checkpoints:
    """The checkpoints of one fleet."""

    def __init__(self, folder: Path):
        import orbax.checkpoint as ocp  # slow to import; only training needs it

        self._ocp = ocp
        self.folder = folder.resolve() / "checkpoints"
        self._manager = ocp.CheckpointManager(
            self.folder,
            options=ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=False),
        )

    def save(self, number: int, arrays: Any, facts: dict[str, Any]) -> None:
        """Save under `number`, which must grow; arrays is a pytree, facts plain data."""
        arrays = jax.tree.map(np.asarray, arrays)
        args = self._ocp.args
        try:
            self._manager.save(
                number,
                args=args.Composite(
                    arrays=args.StandardSave(arrays),
                    facts=args.JsonSave(facts | {"digest": _digest(arrays)}),
                ),
                force=True,
            )
        except Exception as error:
            raise RecallError(
                f"the checkpoint could not be written to {self.folder}: {error}. The one before "
                "is intact; make room there, then `recall resume` goes on from it."
            ) from error

    def restore(self, like: Any) -> tuple[Any, dict[str, Any], list[str]]:
        """The newest checkpoint that is whole: arrays shaped as `like`, facts, and complaints."""
        complaints: list[str] = []
        args = self._ocp.args
        shapes = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), like)
        for number in sorted(self._manager.all_steps(), reverse=True):
            try:
                found: Any = self._manager.restore(
                    number,
                    args=args.Composite(
                        arrays=args.StandardRestore(shapes), facts=args.JsonRestore()
                    ),
                )
                if _digest(found.arrays) != found.facts["digest"]:
                    raise ValueError("its numbers are not those that were saved")
                return found.arrays, found.facts, complaints
            except Exception as error:  # whatever a damaged file makes orbax raise
                reason = str(error).splitlines()[0][:200] if str(error) else repr(error)
                complaints.append(f"checkpoint {number} cannot be read ({reason}); "
                                  "using the one before")  # fmt: skip
        raise NoCheckpointError(
            f"{self.folder} holds no checkpoint that can be read. " + " ".join(complaints)
        )

    def close(self) -> None:
        """Finish with orbax."""
        self._manager.close()


def _digest(arrays: Any) -> int:
    """A checksum over all leaves in order."""
    value = 0
    for leaf in jax.tree.leaves(arrays):
        value = zlib.crc32(np.ascontiguousarray(leaf).view(np.uint8).reshape(-1).data, value)
    return value


class TransitionLog:
    """Every transition of a fleet on disk, one file per task, chunk after chunk."""

    def __init__(self, folder: Path, runs: int, chunk_steps: int, width: int):
        self.folder = folder / "replay"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._shape = (runs, chunk_steps, width)
        self._file: Any = None
        self._task = -1

    def _path(self, task: int) -> Path:
        return self.folder / f"task-{task}.rows"

    def append(self, task: int, rows: Array) -> None:
        """Add a chunk [run, chunk, columns] of the task."""
        if task != self._task:
            self.close()
            self._file, self._task = self._path(task).open("ab"), task
        self._file.write(np.ascontiguousarray(rows, np.float32).data)

    def sync(self) -> None:
        """Put all on disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def cut(self, task: int, chunks: int) -> None:
        """Drop what came after the first `chunks` chunks of `task`."""
        self.close()
        path = self._path(task)
        if path.exists():
            os.truncate(path, chunks * int(np.prod(self._shape)) * 4)
        for later in self.folder.glob("task-*.rows"):
            if int(later.stem.split("-")[1]) > task:
                later.unlink()

    def read(self, task: int, capacity: int) -> Array:
        """[run, slot, columns] as the buffer of the task stood: the last chunks, in its ring."""
        runs, chunk, width = self._shape
        rows = np.zeros((runs, capacity, width), np.float32)
        path = self._path(task)
        if not path.exists() or not path.stat().st_size:
            return rows
        stored = np.memmap(path, np.float32, "r").reshape(-1, runs, chunk, width)
        for number in range(max(0, len(stored) - capacity // chunk), len(stored)):
            start = number * chunk % capacity
            rows[:, start : start + chunk] = stored[number]
        return rows

    def keep(self, task: int, kept: Array, whole: bool) -> None:
        """Write what D_old holds of a finished task [run, slot, columns + policy].

        Where the task is kept `whole` its transitions are in the log already, and only the
        policy's outputs are written; otherwise the log of the task is no longer needed.
        """
        temporary = self.folder / f"old-{task}.tmp.npy"
        np.save(temporary, kept[..., self._shape[2] :] if whole else kept)
        temporary.replace(self.folder / f"old-{task}.npy")

    def read_kept(self, task: int, whole: bool, capacity: int) -> Array:
        """What `keep` was given."""
        stored = np.load(self.folder / f"old-{task}.npy", allow_pickle=False)
        if not whole:
            return stored
        return np.concatenate([self.read(task, capacity), stored], axis=-1)

    def forget(self, task: int) -> None:
        """Remove the transitions of a task that nothing needs any more."""
        self._path(task).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file, self._task = None, -1
