"""Log of a fleet's transitions on disk: one file per task, to which chunks are appended.

    task-K.rows   every chunk of task K, [chunk, run, step, column] float32
    task-K.ends   if replay is kept: a byte for each episode of task K that ended, 1 for success
    old-K.npy     what replay keeps of task K after its end

Files are never rewritten. A checkpoint records the length and checksum of what it covers. When a
fleet resumes, later chunks are cut off and collected again.

Episodes that ended are in the order of chunk, run, environment and step, as `ended` finds them.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from recall.files.append_log import AppendLog
from recall.files.atomic import replacing
from recall.files.fleet_layout import REPLAY
from recall.files.reading import open_file
from recall.files.stamps import Stamp, Stamps, stamp_of

Array = np.ndarray


def rows_file(task: int) -> str:
    """Return the name of the file of a task's transitions."""
    return f"task-{task}.rows"


def ends_file(task: int) -> str:
    """Return the name of the file that says which of a task's episodes succeeded."""
    return f"task-{task}.ends"


class TransitionLog:
    """Log of every transition that a checkpoint may still need."""

    def __init__(self, folder: Path, runs: int, chunk_steps: int, width: int, kept: bool = False):
        """Create the folder. If the log is `kept`, nothing that was collected is removed."""
        self.folder = folder / REPLAY
        self.folder.mkdir(parents=True, exist_ok=True)
        self._shape = (runs, chunk_steps, width)
        self._all_kept = kept
        self._logs: dict[Path, AppendLog] = {}
        self._kept: dict[int, Stamp] = {}

    def _kept_path(self, task: int) -> Path:
        return self.folder / f"old-{task}.npy"

    def _log(self, path: Path) -> AppendLog:
        return self._logs.setdefault(path, AppendLog(path))

    def append(self, task: int, rows: Array, successes: Sequence[bool]) -> None:
        """Append a chunk [run, step, column] of the task, and which of its episodes succeeded."""
        content = np.ascontiguousarray(rows, np.float32).tobytes()
        self._log(self.folder / rows_file(task)).append(content)
        if self._all_kept:
            self._log(self.folder / ends_file(task)).append(bytes(successes))

    def sync(self, tasks: Iterable[int]) -> dict[str, Stamp]:
        """Flush all files to disk; return the stamps of `tasks`, and of what is kept of any."""
        for log in self._logs.values():
            log.sync()
        kept = {self._kept_path(task).name: stamp for task, stamp in self._kept.items()}
        files = [self.folder / rows_file(task) for task in tasks]
        files += [self.folder / ends_file(task) for task in tasks if self._all_kept]
        return {path.name: self._log(path).stamp() for path in files} | kept

    def cut(self, stamps: Stamps) -> None:
        """Cut the files back to stamps that were checked; remove the files of later tasks."""
        self.close()
        self._logs, self._kept = {}, {}
        tasks = {name: int(name.partition("-")[2].partition(".")[0]) for name in stamps}
        for name, task in tasks.items():
            if name == self._kept_path(task).name:
                self._kept[task] = stamps[name]
            else:
                self._log(self.folder / name).cut(stamps[name])
        # Earlier tasks without a stamp stay: an earlier checkpoint may need them.
        for task in self._numbers():
            if task > max(tasks.values(), default=-1):
                (self.folder / rows_file(task)).unlink()
                (self.folder / ends_file(task)).unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        return [int(path.stem.split("-")[1]) for path in self.folder.glob("task-*.rows")]

    def read(self, task: int, capacity: int) -> Array:
        """Return the task's buffer [run, slot, column]: its last chunks, in ring order."""
        runs, chunk, width = self._shape
        rows = np.zeros((runs, capacity, width), np.float32)
        path = self.folder / rows_file(task)
        if not path.exists() or not path.stat().st_size:
            return rows
        stored = np.memmap(path, np.float32, "r").reshape(-1, runs, chunk, width)
        for number in range(max(0, len(stored) - capacity // chunk), len(stored)):
            start = number * chunk % capacity
            rows[:, start : start + chunk] = stored[number]
        return rows

    def keep(self, task: int, kept: Array) -> None:
        """Write what replay keeps of a finished task, or the part of it that is not in the log."""
        path = self._kept_path(task)
        with replacing(path) as file:
            np.save(file, kept)
        with path.open("rb") as file:
            self._kept[task] = stamp_of(file)

    def read_kept(self, task: int) -> Array:
        """Return the array that `keep` wrote."""
        return np.load(self._kept_path(task), allow_pickle=False)

    def forget(self, before: int) -> None:
        """Remove the transitions of the tasks before `before`."""
        for task in self._numbers():
            path = self.folder / rows_file(task)
            if task < before and not self._all_kept:
                path.unlink()
                if path in self._logs:
                    self._logs.pop(path).close()

    def clear(self) -> None:
        """Remove all files but those that are kept, once the fleet will not be resumed."""
        self.close()
        for path in self.folder.glob("old-*" if self._all_kept else "*"):
            path.unlink()
        if not self._all_kept:
            self.folder.rmdir()

    def close(self) -> None:
        """Close the files."""
        for log in self._logs.values():
            log.close()


def by_environment(rows: Array, environments: int) -> Array:
    """Return rows [..., step, column] as [..., environment, step, column]: they alternate."""
    apart = rows.reshape(*rows.shape[:-2], -1, environments, rows.shape[-1])
    return apart.swapaxes(-3, -2)


def read_kept_task(
    folder: Path, task: int, runs: int, chunk_steps: int, width: int
) -> tuple[Array, Array]:
    """Return what a fleet has kept of a task: rows [chunk, run, step, column], and successes."""
    with open_file(folder / REPLAY / rows_file(task)) as file:
        rows = np.memmap(file, np.float32, "r")
    with open_file(folder / REPLAY / ends_file(task)) as file:
        successes = np.frombuffer(file.read(), np.uint8) > 0
    return rows.reshape(-1, runs, chunk_steps, width), successes
