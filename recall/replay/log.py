"""Log of a fleet's transitions on disk: one file per task, to which chunks are appended.

    task-K.rows   every chunk of task K, [chunk, run, step, column] float32
    old-K.npy     what replay keeps of task K after its end

Files are never rewritten. A checkpoint records the length and checksum of what it covers. When a
fleet resumes, later chunks are cut off and collected again.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from recall.files.append_log import AppendLog
from recall.files.atomic import replacing
from recall.files.fleet_layout import REPLAY
from recall.files.stamps import Stamp, Stamps, check_all

Array = np.ndarray


class TransitionLog:
    """Log of every transition that a checkpoint may still need."""

    def __init__(self, folder: Path, runs: int, chunk_steps: int, width: int):
        self.folder = folder / REPLAY
        self.folder.mkdir(parents=True, exist_ok=True)
        self._shape = (runs, chunk_steps, width)
        self._logs: dict[int, AppendLog] = {}
        self._kept: dict[int, Stamp] = {}

    def _path(self, task: int) -> Path:
        return self.folder / f"task-{task}.rows"

    def _kept_path(self, task: int) -> Path:
        return self.folder / f"old-{task}.npy"

    def _log(self, task: int) -> AppendLog:
        return self._logs.setdefault(task, AppendLog(self._path(task)))

    def append(self, task: int, rows: Array) -> None:
        """Append a chunk [run, step, column] of the task."""
        self._log(task).append(np.ascontiguousarray(rows, np.float32).tobytes())

    def sync(self, tasks: Iterable[int]) -> dict[str, Stamp]:
        """Flush all files to disk; return the stamps of `tasks`, and of what is kept of any."""
        for log in self._logs.values():
            log.sync()
        kept = {self._kept_path(task).name: stamp for task, stamp in self._kept.items()}
        return {self._path(task).name: self._log(task).stamp() for task in tasks} | kept

    def check(self, stamps: Stamps) -> None:
        """Raise an error if a file that `stamps` covers is lost or damaged."""
        check_all(self.folder, stamps)

    def cut(self, stamps: Stamps) -> None:
        """Cut the files back to stamps that were checked; remove the files of later tasks."""
        self.close()
        self._logs, self._kept = {}, {}
        tasks = {name: int(name.partition("-")[2].partition(".")[0]) for name in stamps}
        for name, task in tasks.items():
            if name == self._path(task).name:
                self._log(task).cut(stamps[name])
            else:
                self._kept[task] = stamps[name]
        # Earlier tasks without a stamp stay: an earlier checkpoint may need them.
        for task in self._numbers():
            if task > max(tasks.values(), default=-1):
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
        with replacing(self._kept_path(task)) as file:
            np.save(file, kept)
        self._kept[task] = file.stamp

    def read_kept(self, task: int) -> Array:
        """Return the array that `keep` wrote."""
        kept: Array = np.load(self._kept_path(task), allow_pickle=False)
        return kept

    def forget(self, before: int) -> None:
        """Remove the transitions of the tasks before `before`."""
        for task in self._numbers():
            if task < before:
                self._path(task).unlink()
                if task in self._logs:
                    self._logs.pop(task).close()

    def clear(self) -> None:
        """Remove all files, once the fleet is done and will not be resumed."""
        self.close()
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()

    def close(self) -> None:
        """Close the files."""
        for log in self._logs.values():
            log.close()
