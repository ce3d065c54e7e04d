"""Reading of logs in the format of Continual World's code: a folder with the files of one run.

`progress.tsv` has a row per evaluation; `config.json` has `cl_method`, unless all tasks were
learned at once. Other simulators made these runs, so ours are never their references.
"""

import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recall.analysis.run_result import RunResult
from recall.errors import RecallError
from recall.files.reading import read_bytes, read_json
from recall.runs.evaluations import FIELDS, MODES
from recall.worlds.sequences import parse_sequence, sequence_names

Array = np.ndarray
PROGRESS, CONFIG = "progress.tsv", "config.json"
SOURCE = "continual_world"
_STEP = "total_env_steps"
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


def read_log(folder: Path) -> tuple[list[RunResult], list[str]]:
    """Return the run in a folder and its problems."""
    try:
        config = read_json(folder / CONFIG)
        content = io.BytesIO(_without_torn_row(read_bytes(folder / PROGRESS)))
        # Texts become the numbers that were written, to the last bit.
        table = pd.read_csv(content, sep="\t", index_col=False, float_precision="round_trip")  # type: ignore[call-overload]
        return _run(folder, config, table.apply(pd.to_numeric, errors="coerce"))
    # What a damaged log or one in another format raises.
    except (RecallError, ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        return [], [f"{folder}: the log cannot be read ({str(error).strip()}): left out."]


def _without_torn_row(content: bytes) -> bytes:
    """Leave out a last row that is still being written: without all columns, or a whole step."""
    header, rest = content.partition(b"\n")[::2]
    rows, _, last = rest.rpartition(b"\n")
    whole = last.count(b"\t") >= header.count(b"\t") and not header.endswith(_STEP.encode())
    return content if whole else header + b"\n" + rows


def _run(
    folder: Path, config: dict[str, Any], table: pd.DataFrame
) -> tuple[list[RunResult], list[str]]:
    table = table.dropna(subset=[_STEP])  # a header, written again by a restart
    # The steps that a restarted run logged again replace the earlier ones.
    later = table[_STEP][::-1].cummin()[::-1].shift(-1, fill_value=np.inf)
    table = table[table[_STEP] < later]
    if table.empty:
        return [], [f"{folder} has no evaluations yet: left out."]
    columns, tasks = _columns(list(table))
    steps = table[_STEP].to_numpy().astype(int)
    names = tuple(_VERSION.sub("", task) for task in tasks)
    per_task = int(config["steps"] if "task" in config else config["steps_per_task"])
    curves: dict[tuple[str, str], Array] = {
        (mode, field): np.full((len(table), len(tasks)), np.nan)
        for mode in MODES
        for field in FIELDS
    }
    for (mode, field, task), name in columns.items():
        curves[mode, field][:, task] = table[name]
    run = RunResult(
        name=folder.resolve().name,
        folder=folder,
        method=_method(config),
        sequence=_known_sequences().get(names, ",".join(names)),
        tasks=names,
        seed=int(config.get("seed") or 0),
        steps_per_task=per_task,
        steps=steps,
        curves=curves,
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


def _columns(header: list[str]) -> tuple[dict[tuple[str, str, int], str], list[str]]:
    """Return the column of each mode, field and task, and the tasks in order."""
    columns: dict[tuple[str, str, int], str] = {}
    tasks: dict[int, str] = {}
    for name in header:
        if found := _COLUMN.fullmatch(name):
            mode, number, task, field = found.groups()
            columns[mode, field, int(number)] = name
            tasks[int(number)] = task
    if sorted(tasks) != list(range(len(tasks))) or not tasks:
        raise ValueError(f"the columns have tasks {sorted(tasks)}; expected 0, 1, 2, ...")
    return columns, [tasks[number] for number in sorted(tasks)]


def _method(config: dict[str, Any]) -> str:
    if "cl_method" not in config and "task" not in config:
        return "multi_task"
    reservoir = "reservoir" if config.get("buffer_type") == "reservoir" else ""
    name = config.get("cl_method") or reservoir
    return _METHODS.get(name, name)


def _settings(config: dict[str, Any], tasks: list[str], per_task: int) -> dict[str, Any]:
    versions = {found.group(1) for task in tasks if (found := _VERSION.search(task))}
    made = {f"log.{name}": value for name, value in config.items() if name not in _WHICH}
    return {"world.version": " ".join(sorted(versions)), "log.steps_per_task": per_task, **made}


@cache
def _known_sequences() -> dict[tuple[str, ...], str]:
    return {parse_sequence(name).tasks: name for name in reversed(sequence_names())}
