"""Reading of logs in the format of Continual World's code: `progress.tsv` and `config.json`.

A folder holds one run. The log has a row per evaluation, with columns such as
`test/stochastic/0/window-close-v1/success` and `total_env_steps`. The configuration has
`cl_method`, `seed` and `steps_per_task`, or `task` and `steps` for a single task; without either,
all tasks were learned at once. Imported runs come from other simulators, so they are never compared
with single-task runs of ours.
"""

import contextlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from recall.analysis.run_result import RunResult
from recall.runs.evaluations import FIELDS, MODES
from recall.worlds.sequences import parse_sequence, sequence_names

Array = np.ndarray
PROGRESS, CONFIG = "progress.tsv", "config.json"
SOURCE = "continual_world"
_STEP = "total_env_steps"
# What a damaged log or one in another format makes the functions below raise.
_UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    OSError,
)
# RECALL's own code, which grew out of Continual World's, writes a mean without "/avg".
_COLUMN = re.compile(r"test/(stochastic|deterministic)/(\d+)/(.+)/(success|return)(?:/avg)?")
_VERSION = re.compile(r"-v(\d)$")
# Names of methods there and in RECALL's code, if they differ from ours. A reservoir keeps samples
# of all data seen.
_METHODS = {
    "": "fine_tuning",
    "finetuning": "fine_tuning",
    "ft": "fine_tuning",
    "reservoir": "perfect_memory",
    "pm": "perfect_memory",
}
# Keys that identify a run, as opposed to settings.
_WHICH = ("seed", "task", "tasks", "task_list", "steps", "steps_per_task", "cl_method",
          "logger_output", "group_id", "log_every")  # fmt: skip
_TOGETHER = "multi_task"


def read_log(folder: Path) -> tuple[list[RunResult], list[str]]:
    """Return the run in a folder and its problems."""
    try:
        config = json.loads((folder / CONFIG).read_bytes())
        header, table = _table(folder / PROGRESS)
        return _run(folder, config, header, table)
    except FileNotFoundError as error:
        return [], [f"{folder} has {PROGRESS} but no {Path(error.filename).name}: left out."]
    except _UNREADABLE as error:
        return [], [f"{folder}: the log cannot be read ({_reason(error)}): left out."]


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the complete rows, without a last row that is being written."""
    lines = path.read_text().splitlines()
    header = lines[0].split("\t") if lines else []
    rows = [line.split("\t") for line in lines[1:]]
    return header, [row for row in rows if len(row) == len(header)]


def _run(
    folder: Path, config: dict[str, Any], header: list[str], rows: list[list[str]]
) -> tuple[list[RunResult], list[str]]:
    if _STEP not in header or not rows:
        return [], [f"{folder} has no evaluations yet: left out."]
    columns, tasks = _columns(header)
    steps = np.array([float(row[header.index(_STEP)]) for row in rows]).astype(int)
    names = tuple(_VERSION.sub("", task) for task in tasks)
    per_task = int(config["steps"] if "task" in config else config["steps_per_task"])
    run = RunResult(
        name=folder.name,
        folder=folder,
        method=_method(config),
        sequence=_sequence(names),
        tasks=names,
        seed=int(config.get("seed") or 0),
        steps_per_task=per_task,
        steps=steps,
        curves=_curves(rows, columns, len(tasks)),
        settings=_settings(config, tasks, per_task),
        description=config,
        finished=bool(steps[-1] >= len(tasks) * per_task),
        source=SOURCE,
    )
    if run.complete:
        return [run], []
    return [run], [
        f"{folder} ends at step {steps[-1]:,} of {run.total_steps:,}: it is in the curves but left "
        "out of the tables."
    ]


def _columns(header: list[str]) -> tuple[dict[tuple[str, str, int], int], list[str]]:
    """Return the column of each mode, field and task, and the tasks in order."""
    columns: dict[tuple[str, str, int], int] = {}
    tasks: dict[int, str] = {}
    for place, name in enumerate(header):
        if found := _COLUMN.fullmatch(name):
            mode, number, task, field = found.groups()
            columns[mode, field, int(number)] = place
            tasks[int(number)] = task
    if sorted(tasks) != list(range(len(tasks))) or not tasks:
        raise ValueError(f"the columns have tasks {sorted(tasks)}; expected 0, 1, 2, ...")
    return columns, [tasks[number] for number in sorted(tasks)]


def _curves(
    rows: list[list[str]], columns: dict[tuple[str, str, int], int], tasks: int
) -> dict[tuple[str, str], Array]:
    curves: dict[tuple[str, str], Array] = {
        (mode, field): np.full((len(rows), tasks), np.nan) for mode in MODES for field in FIELDS
    }
    for (mode, field, task), place in columns.items():
        curves[mode, field][:, task] = [_number(row[place]) for row in rows]
    return curves


def _number(text: str) -> float:
    with contextlib.suppress(ValueError):
        return float(text)
    return float("nan")


def _method(config: dict[str, Any]) -> str:
    if "cl_method" not in config and "task" not in config:
        return _TOGETHER
    name = config.get("cl_method") or ""
    if not name and config.get("buffer_type") == "reservoir":
        name = "reservoir"
    return _METHODS.get(name, name)


def _settings(config: dict[str, Any], tasks: list[str], per_task: int) -> dict[str, Any]:
    versions = {found.group(1) for task in tasks if (found := _VERSION.search(task))}
    made = {f"log.{name}": value for name, value in config.items() if name not in _WHICH}
    return {"world.version": " ".join(sorted(versions)), "log.steps_per_task": per_task, **made}


@cache
def _known_sequences() -> dict[tuple[str, ...], str]:
    return {parse_sequence(name).tasks: name for name in reversed(sequence_names())}


def _sequence(tasks: tuple[str, ...]) -> str:
    return _known_sequences().get(tasks, ",".join(tasks))
