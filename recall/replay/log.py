"""Log of a fleet's transitions on disk: one file per task, to which chunks are appended.

    task-K.rows   every chunk of task K, [chunk, run, step, column] float32
    old-K.npy     what replay keeps of task K after its end

Files are never rewritten. A checkpoint records how many chunks it covers. When a fleet resumes,
later chunks are cut off and collected again.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recall.errors import RecallError

Array = np.ndarray


class TransitionLog:
    """Log of every transition that a checkpoint may still need."""

    def __init__(self, folder: Path, runs: int, chunk_steps: int, width: int):
        self.folder = folder / "replay"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._shape = (runs, chunk_steps, width)
        self._chunk_bytes = 4 * runs * chunk_steps * width
        self._files: dict[int, Any] = {}

    def _path(self, task: int) -> Path:
        return self.folder / f"task-{task}.rows"

    def append(self, task: int, rows: Array) -> None:
        """Append a chunk [run, step, column] of the task."""
        if task not in self._files:
            # Unbuffered, so that no leftover data are written after a failure.
            self._files[task] = self._path(task).open("ab", buffering=0)
        write_all(self._files[task], np.ascontiguousarray(rows, np.float32).tobytes())

    def sync(self) -> None:
        """Flush all files to disk."""
        for file in self._files.values():
            os.fsync(file.fileno())

    def check(self, chunks: Mapping[int, int]) -> None:
        """Raise RecallError if a task in `chunks` has fewer chunks on disk than stated there."""
        for task, count in chunks.items():
            path = self._path(task)
            stored = path.stat().st_size if path.exists() else 0
            if stored < count * self._chunk_bytes:
                raise RecallError(
                    f"{path} has {stored // self._chunk_bytes} of {count} chunks: the rest is lost"
                )

    def cut(self, chunks: Mapping[int, int]) -> None:
        """Cut each task in `chunks` to that number of chunks, and delete all later tasks."""
        self.close()
        self.check(chunks)
        for task in self._numbers():
            if task in chunks:
                os.truncate(self._path(task), chunks[task] * self._chunk_bytes)
            elif task > max(chunks):
                self._path(task).unlink()

    def _numbers(self) -> list[int]:
        return [int(path.stem.split("-")[1]) for path in self.folder.glob("task-*.rows")]

    def read(self, task: int, capacity: int) -> Array:
        """Return the task's buffer [run, slot, column]: its last chunks, in ring order."""
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

    def keep(self, task: int, kept: Array) -> None:
        """Write what replay keeps of a finished task, or the part of it that is not in the log."""
        temporary = self.folder / f"old-{task}.tmp"
        with temporary.open("wb") as file:
            np.save(file, kept)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.folder / f"old-{task}.npy")

    def read_kept(self, task: int) -> Array:
        """Return the array that `keep` wrote."""
        kept: Array = np.load(self.folder / f"old-{task}.npy", allow_pickle=False)
        return kept

    def forget(self, before: int) -> None:
        """Remove the transitions of the tasks before `before`."""
        for task in self._numbers():
            if task < before:
                self._path(task).unlink()
                if task in self._files:
                    self._files.pop(task).close()

    def clear(self) -> None:
        """Remove all files, once the fleet is done and will not be resumed."""
        self.close()
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files = {}


def write_all(file: Any, data: bytes) -> None:
    """Write all data to an unbuffered file, whose `write` may accept only a part at a time."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
