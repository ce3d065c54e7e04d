"""Tidy tables of what was measured: a row per evaluation of a task, per task and stage, per run.

The columns are plain lists, so that CSV needs no other package. Parquet needs pyarrow, and a
DataFrame needs pandas; the extra `pandas` installs both.
"""

import csv
import importlib.util
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from recall.analysis.collection import Collection, gather
from recall.analysis.measures import METRICS
from recall.analysis.metrics import successes_at
from recall.analysis.run_result import RunResult
from recall.analysis.scores import ScoreBoard
from recall.analysis.together import learnt_together
from recall.errors import BadValueError, UnknownNameError, how_to_install
from recall.files.atomic import replacement, temporary_of, write_text
from recall.files.paths import given_paths
from recall.runs.evaluations import FIELDS, MODES

Columns = dict[str, list[Any]]
Folder = str | Path
TABLES = ("evaluations", "stages", "runs")
_WHO = ("label", "method", "preset", "sequence", "seed")
_HOW_TO_INSTALL = how_to_install("pandas")


def frame(
    folders: Iterable[Folder] | Folder,
    table: Literal["evaluations", "stages", "runs"] = "evaluations",
) -> Any:
    """Return every evaluation, stage or run below some folders as a pandas DataFrame.

    `evaluations` has a row for each run, step, task and mode; `stages` has a row for each run,
    stage and task, with the success at the end of the stage; `runs` has a row for each run, with
    its metrics and settings. Folders that cannot be read are left out.
    """
    if table not in TABLES:
        raise UnknownNameError("table", table, TABLES)
    if importlib.util.find_spec("pandas") is None:
        raise BadValueError(f"a DataFrame needs pandas, which is not installed: {_HOW_TO_INSTALL}")
    import pandas

    given = given_paths(folders, "folders")
    for folder in given:
        if not folder.exists():
            raise BadValueError(f"there is no folder {folder}")
    return pandas.DataFrame(_columns_of(table, ScoreBoard(gather(given))))


def _columns_of(table: str, board: ScoreBoard) -> Columns:
    if table == "evaluations":
        return evaluation_columns(board.collection)
    return stage_columns(board) if table == "stages" else run_columns(board)


def evaluation_columns(collection: Collection) -> Columns:
    """Return the columns of the table with a row for each run, step, task and mode."""
    names = (*_WHO, "run", "folder", "step", "position", "task", "mode", *FIELDS)
    columns: Columns = {name: [] for name in names}
    for run in collection.runs:
        for mode in MODES:
            _add_evaluations(columns, run, mode)
    return columns


def _add_evaluations(columns: Columns, run: RunResult, mode: str) -> None:
    tasks = len(run.tasks)
    missing = np.full((len(run.steps), tasks), np.nan)
    values = [
        (run.curve(mode, field).success if (mode, field) in run.curves else missing).ravel()
        for field in FIELDS
    ]
    kept = np.isfinite(values).any(axis=0)
    count = int(kept.sum())
    positions = np.tile(np.arange(tasks), len(run.steps))[kept]
    for name in _WHO:
        columns[name] += [getattr(run, name)] * count
    columns["run"] += [run.name] * count
    columns["folder"] += [str(run.folder)] * count
    columns["step"] += np.repeat(run.steps, tasks)[kept].tolist()
    columns["position"] += positions.tolist()
    columns["task"] += [run.tasks[position] for position in positions]
    columns["mode"] += [mode] * count
    for field, column in zip(FIELDS, values, strict=True):
        columns[field] += column[kept].tolist()


def stage_columns(board: ScoreBoard) -> Columns:
    """Return the columns of the table with a row for each run, finished stage and task.

    Rows of tasks not yet trained show what transfers to them without training, and rows of old
    tasks what later ones gave them or took from them. Runs that train all tasks at once have none.
    """
    measure, names = board.measure, ("run", "folder", "stage", "trained", "position", "task")
    columns: Columns = {name: [] for name in (*_WHO, *names, measure.field)}
    for run in board.collection.sequential.runs:
        if learnt_together(run.method):
            continue
        curve = run.curve(measure.mode, measure.field)
        for stage, trained in enumerate(run.tasks):
            end = (stage + 1) * run.steps_per_task
            values = successes_at(curve, end, measure.window)
            for position in np.flatnonzero(np.isfinite(values)).tolist():
                row = (run.name, str(run.folder), stage, trained, position, run.tasks[position])
                row = (*(getattr(run, name) for name in _WHO), *row, float(values[position]))
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
    return columns


def run_columns(board: ScoreBoard) -> Columns:
    """Return the columns of the table with a row for each run, its metrics and its settings."""
    metrics = {
        (id(run), metric): value
        for scores in board.scores.values()
        for metric in METRICS
        if (values := scores.by_run(metric)) is not None
        for run, value in zip(scores.runs, values.tolist(), strict=True)
    }
    runs = board.collection.runs
    settings = sorted({name for run in runs for name in run.settings})
    rows = [
        {
            **{name: getattr(run, name) for name in _WHO},
            "run": run.name,
            "folder": str(run.folder),
            "source": run.source,
            "tasks": ",".join(run.tasks),
            "steps_per_task": run.steps_per_task,
            "steps": int(run.steps[-1]) if len(run.steps) else 0,
            "finished": run.finished,
            "failed_at": run.failed_at,
            **{metric: metrics.get((id(run), metric)) for metric in METRICS},
            **{name: _plain(run.settings.get(name)) for name in settings},
        }
        for run in runs
    ]
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def _plain(value: Any) -> Any:
    """Return a setting as a number, a text, True, False or None; lists become texts."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def write_csv(columns: Mapping[str, list[Any]], path: Path) -> None:
    """Write columns as CSV; missing values are empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        ["" if value is None or value != value else value for value in row]
        for row in zip(*columns.values(), strict=True)
    )
    write_text(path, text.getvalue())


def can_write_parquet() -> bool:
    """Return True if pyarrow is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def write_parquet(columns: Mapping[str, list[Any]], path: Path) -> None:
    """Write columns as Parquet, which needs pyarrow."""
    if not can_write_parquet():
        raise BadValueError(
            f"{path.name}: Parquet needs pyarrow, which is not installed: {_HOW_TO_INSTALL}"
        )
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({name: _alike(each) for name, each in columns.items()})
    with replacement(path, temporary_of(path)) as temporary:
        parquet.write_table(table, temporary)


def _alike(values: list[Any]) -> list[Any]:
    """Return values of one type: a setting may be a number in some runs and a text in others."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return [float(value) if kinds == {int, float} and value is not None else value
                for value in values]  # fmt: skip
    return [None if value is None else str(value) for value in values]


def write_tables(board: ScoreBoard, folder: Path) -> list[Path]:
    """Write all tables into a folder, as CSV and, with pyarrow, as Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in TABLES:
        columns = _columns_of(name, board)
        written.append(folder / f"{name}.csv")
        write_csv(columns, written[-1])
        if can_write_parquet():
            written.append(folder / f"{name}.parquet")
            write_parquet(columns, written[-1])
    return written
