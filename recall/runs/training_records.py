"""The records of training.jsonl: built from the trainer's data, and read as columns of numbers."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from recall.files.fleet_layout import Count, find_records
from recall.files.reading import complete_lines, decoded
from recall.runs.health import Symptom
from recall.runs.wording import counted

Array = np.ndarray
Columns = dict[str, Array]
_Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Record = dict[str, bool | _Integer | float | str | list[float | None] | None]
TRAINING = "training"
_APART = ("head_returns", "health")  # keys of records that are not part of the columns


def score_records(scores: Array, best: Array, step: int, position: int) -> list[dict[str, Any]]:
    """Return records of the scores [run, 1 + head] on a new task, and of the copied head or -1."""
    return [
        {
            "run": run,
            "step": step,
            "position": position,
            "head_returns": scores[run, 1:].tolist(),
            "random_return": float(scores[run, 0]),
            "best_head": int(best[run]),
        }
        for run in range(len(scores))
    ]


def health_record(run: int, step: int, symptom: Symptom) -> dict[str, Any]:
    """Return the record of a health warning."""
    return {
        "run": run,
        "step": step,
        "position": symptom.position,
        "health": symptom.kind,
        "message": symptom.message,
    }


def training_records(
    step: int, runs: Sequence[int], episodes: Sequence[Sequence[Any]], metrics: Mapping[str, Array]
) -> list[dict[str, Any]]:
    """Return the records of `runs`, with the means of `episodes` [run, success, return] that ended.

    In `metrics` the first axis is the run.
    """
    records = []
    for run in runs:
        record: dict[str, Any] = {"run": run, "step": step}
        mine = [episode for episode in episodes if episode[0] == run]
        if mine:
            record["episode_success"] = float(np.mean([episode[1] for episode in mine]))
            record["episode_return"] = float(np.mean([episode[2] for episode in mine]))
        record |= {name: values[run].tolist() for name, values in metrics.items()}
        records.append(record)
    return records


class _Warning(msgspec.Struct):
    run: Count
    step: Count
    health: str
    message: str
    position: Count | None = None


def read_training(folder: Path, run: int, tasks: int) -> tuple[Columns, str | None]:
    """Return the training records of one run of a fleet, and what is wrong with the file."""
    start, mine = b'{"run": ', b'{"run": %d,' % run
    # Most lines of other runs are skipped without decoding.
    lines, problem = _lines(folder, lambda line: line.startswith(mine) or line[:8] != start)
    records = decoded(lines, _Record)
    if broken := len(lines) - len(records):
        path = find_records(folder, TRAINING)
        problem = f"{path}: {counted(broken, 'line')} cannot be used: left out."
    rows = [
        record
        for record in records
        if record.get("run") == run
        and not any(key in record for key in _APART)
        and isinstance(record.get("step"), int)
    ]
    names = [name for name in dict.fromkeys(chain.from_iterable(rows)) if name != "run"]
    return {name: _array([row.get(name) for row in rows], tasks) for name in names}, problem


def read_warnings(folder: Path) -> tuple[dict[int, tuple[dict[str, Any], ...]], str | None]:
    """Return the health warnings of each run of a fleet, and what is wrong with the file."""
    lines, problem = _lines(folder, lambda line: b'"health"' in line)
    warnings: dict[int, tuple[dict[str, Any], ...]] = {}
    for each in decoded(lines, _Warning):
        warnings[each.run] = (*warnings.get(each.run, ()), msgspec.structs.asdict(each))
    return warnings, problem


def _lines(folder: Path, wanted: Callable[[bytes], bool]) -> tuple[list[bytes], str | None]:
    """Return the wanted lines of the training records, and why they cannot be read."""
    path = find_records(folder, TRAINING)
    try:
        return list(filter(wanted, complete_lines(path))), None
    except FileNotFoundError:
        return [], None
    except OSError as error:
        return [], f"{path} cannot be read ({error.strerror}): left out."


def _array(column: list[Any], tasks: int) -> Array:
    """Return [row], or [row, task] if values are lists, with NaN for missing or invalid values."""
    width = max((len(value) for value in column if isinstance(value, list)), default=0)
    if not width:
        return np.array([v if isinstance(v, int | float) else np.nan for v in column], float)
    blank = [None] * max(width, tasks)
    lists = [value if isinstance(value, list) else [] for value in column]
    return np.array([value + blank[len(value) :] for value in lists], float)
