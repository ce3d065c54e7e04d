"""Tidy pandas frames of what was measured: scores, evaluations, stages and runs.

The frame of scores is what metrics, intervals and tables are computed from. It has a row for each
complete run of a sequence and each of its tasks:

| column | meaning |
|---|---|
| label, method, variant, sequence, family | whose row it is |
| seed, position, task, tasks | the run's seed, the place of the task, and the number of tasks |
| steps_per_task, evaluations, window | a stage, its evaluations, and how many count at its end |
| run | the `RunResult` |
| trained, final, forgotten | p_i at the end of its own stage and of the sequence, and the loss |
| area | AUC_i of the task in its own stage |
| alone, reference | AUC_i of the single-task runs compared with, and their mean |
| transfer | FT_i; NaN if nothing is to gain, or if any task of the sequence lacks a reference |
| seeds | all seeds of the label, on any sequence, from which the bootstrap draws |

For methods that train all tasks at once, what concerns a task's own stage is NaN.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from recall.analysis import metrics
from recall.analysis.collection import Collection, gather
from recall.analysis.labels import family_of, grouped
from recall.analysis.metrics import FORGETTING, METRICS, PERFORMANCE, RETURN, TRANSFER, Measure
from recall.analysis.references import References
from recall.analysis.run_result import RunResult, is_multi_task
from recall.errors import BadValueError, UnknownNameError
from recall.files.atomic import write_text
from recall.files.paths import given_paths
from recall.runs.evaluations import FIELDS, MODES, RATES

Array = np.ndarray
_WHO = ("label", "method", "preset", "sequence", "seed")
SCORES = (
    "label", "method", "variant", "sequence", "family", "seed", "position", "task", "tasks",
    "steps_per_task", "evaluations", "window", "run", "trained", "final", "forgotten", "area",
    "alone", "reference", "transfer", "seeds",
)  # fmt: skip
MEASURED = {PERFORMANCE: "final", FORGETTING: "forgotten", TRANSFER: "transfer"}
"""The column of which each metric is a mean."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """Runs, and their scores by one measure of success."""

    collection: Collection
    measure: Measure
    scores: pd.DataFrame
    problems: tuple[str, ...] = ()
    """Sentences about runs that are left out because they lack a measured value."""
    references: Mapping[tuple[str, str, str], References] = field(default_factory=dict)
    """The single-task runs compared with, by label, sequence and task."""


def analyse(collection: Collection, measure: Measure | None = None) -> Analysis:
    """Return the scores of all complete runs of more than one task.

    Sequences none of whose tasks report success are scored by return alone, and tasks that do not
    report it have no rows.
    """
    measure = measure or Measure()
    measured = collection if measure.field == RETURN else collection.with_success
    runs = measured.sequential.runs
    silent: dict[str, set[str]] = {run.sequence: set() for run in runs}
    for run in runs if measure.field in RATES else ():
        silent[run.sequence].update(run.without_success)
    rows, problems = list[tuple[Any, ...]](), list[str]()
    compared: dict[tuple[str, str, str], References] = {}
    for label, of_label in measured.sequential.by_label().items():
        for sequence, own in grouped(of_label, lambda run: run.sequence).items():
            places = [n for n, task in enumerate(own[0].tasks) if task not in silent[sequence]]
            kept = dict[RunResult, Array]()
            for run in filter(lambda run: run.complete, own):
                if (values := _measured(run, measure, places)) is not None:
                    kept[run] = values
                    continue
                problems.append(
                    f"{run.name} in {run.folder} has no {measure.mode} {measure.field} of some "
                    "task, in the task's own stage or at the end: it is left out of the tables."
                )
            if kept:
                found = {
                    task: collection.references(next(iter(kept)), task) for task in own[0].tasks
                }
                compared |= {(label, sequence, task): each for task, each in found.items()}
                rows += _rows(kept, measure, places, found)
    frame = pd.DataFrame(rows, columns=list(SCORES[:-1]))
    seeds = {
        label: tuple(sorted(set(part))) for label, part in frame.groupby("label", sort=False).seed
    }
    frame["seeds"] = [seeds[label] for label in frame.label]
    return Analysis(collection, measure, frame, tuple(problems), compared)


def _measured(run: RunResult, measure: Measure, places: list[int]) -> Array | None:
    """Return p_i(N D), p_i(i D) and AUC_i, [value, task]; None if one of a task is not known."""
    curve = run.curve(measure.mode, measure.field)
    values = np.stack(
        [
            metrics.final_successes(curve, measure.window),
            metrics.trained_successes(curve, measure.window),
            metrics.areas(curve),
        ]
    )
    needed = values
    if is_multi_task(run.method):
        values[1:], needed = np.nan, values[:1]
    return values if np.isfinite(needed[:, places]).all() else None


def _rows(
    kept: Mapping[RunResult, Array],
    measure: Measure,
    places: list[int],
    references: Mapping[str, References],
) -> list[tuple[Any, ...]]:
    """Return the rows of one label on one sequence, without those of `seeds`."""
    curves = [run.curve(measure.mode, measure.field) for run in kept]
    evaluations = min(map(metrics.evaluations_of_stage, curves))
    window = metrics.window_of(evaluations, measure.window)
    alone: dict[str, tuple[float, ...]] = {}
    for place, task in enumerate(curves[0].tasks):
        if task not in alone:
            steps = metrics.steps_of_stage(curves[0], place)
            others = (each.curve(measure.mode, measure.field) for each in references[task].runs)
            areas = (metrics.area_at(other, steps) for other in others)
            alone[task] = tuple(area for area in areas if np.isfinite(area))
    means = [np.mean(alone[task]) if alone[task] else np.nan for task in curves[0].tasks]
    reference = np.array(means)
    known = np.isfinite(reference[places]).all()  # a mean over some would not compare
    rows = []
    for run, (final, trained, area) in kept.items():
        transfer = metrics.transfer(area, reference if known else reference * np.nan)
        rows += [
            (
                run.label, run.method, run.variant, run.sequence, family_of(run.sequence), run.seed,
                place, run.tasks[place], len(run.tasks), run.steps_per_task, evaluations, window,
                run, trained[place], final[place], trained[place] - final[place], area[place],
                alone[run.tasks[place]], reference[place], transfer[place],
            )
            for place in places
        ]  # fmt: skip
    return rows


def select(frame: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """Return the rows whose columns have the given values; a list stands for any of its values."""
    chosen = np.ones(len(frame), bool)
    for column, value in where.items():
        there = frame[column]
        chosen &= (there.isin(value) if isinstance(value, list) else there == value).to_numpy(bool)
    return frame[chosen]


def list_of(frame: pd.DataFrame, column: str) -> list[Any]:
    """Return the values of a column, each once, in the order of their first appearance."""
    return list(dict.fromkeys(frame[column]))


def matrix(rows: pd.DataFrame, column: str) -> Array:
    """Return a column of one label on one sequence as an array, [run, task]."""
    places = rows["position"].to_numpy()
    values = rows[column].to_numpy(float)
    return np.stack([values[places == place] for place in sorted(set(places))], axis=1)


def evaluations_frame(collection: Collection) -> pd.DataFrame:
    """Return a frame with a row for each run, step, task and mode."""
    parts = [_evaluations(run, mode) for run in collection.runs for mode in MODES]
    if not parts:
        names = [*_WHO, "run", "folder", "step", "position", "task", "mode", *FIELDS]
        return pd.DataFrame(columns=names)
    return pd.concat(parts, ignore_index=True)


def _evaluations(run: RunResult, mode: str) -> pd.DataFrame:
    count, tasks = len(run.steps), len(run.tasks)
    frame = pd.DataFrame(
        {
            **_who(run),
            "step": np.repeat(run.steps, tasks),
            "position": np.tile(np.arange(tasks), count),
            "task": np.tile(np.array(run.tasks, object), count),
            "mode": mode,
        }
    )
    for name in FIELDS:
        known = (mode, name) in run.curves
        frame[name] = run.curve(mode, name).success.ravel() if known else np.nan
    return frame.dropna(subset=list(FIELDS), how="all")


def _who(run: RunResult) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in _WHO},
        "run": run.name,
        "folder": str(run.folder),
    }


def stages_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a frame with a row for each run, finished stage and task.

    Rows of tasks not yet trained show what transfers to them without training, and rows of old
    tasks what later ones gave them or took from them. Runs that train all tasks at once have none.
    """
    measure = analysis.measure
    rows = []
    for run in analysis.collection.sequential.runs:
        if is_multi_task(run.method):
            continue
        curve = run.curve(measure.mode, measure.field)
        for stage, trained in enumerate(run.tasks):
            end = (stage + 1) * run.steps_per_task
            values = metrics.successes_at(curve, end, measure.window)
            rows += [
                (*_who(run).values(), stage, trained, position, run.tasks[position], value)
                for position, value in enumerate(values.tolist())
                if np.isfinite(value)
            ]
    names = ("run", "folder", "stage", "trained", "position", "task", measure.field)
    return pd.DataFrame(rows, columns=[*_WHO, *names])


def runs_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a frame with a row for each run, with its metrics and settings."""
    runs = analysis.collection.runs
    columns = [MEASURED[metric] for metric in METRICS]
    means = analysis.scores.groupby("run", sort=False)[columns].mean()
    settings = sorted({name for run in runs for name in run.settings})
    return pd.DataFrame(
        {
            **_who(run),
            "source": run.source,
            "tasks": ",".join(run.tasks),
            "steps_per_task": run.steps_per_task,
            "steps": int(run.steps[-1]) if len(run.steps) else 0,
            "finished": run.finished,
            "failed_at": run.failed_at,
            **{
                metric: means.at[run, MEASURED[metric]] if run in means.index else np.nan
                for metric in METRICS
            },
            **{name: _plain(run.settings.get(name)) for name in settings},
        }
        for run in runs
    )


def _plain(value: Any) -> Any:
    """Return a setting as a number, a text, True, False or None; lists become texts."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


FRAMES = {
    "evaluations": lambda analysis: evaluations_frame(analysis.collection),
    "stages": stages_frame,
    "runs": runs_frame,
}


def write_data(analysis: Analysis, folder: Path) -> None:
    """Write all frames but the scores as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FRAMES.items():
        text = make(analysis).to_csv(index=False, lineterminator="\n")
        write_text(folder / f"{name}.csv", text)


def frame(
    folders: Iterable[str | Path] | str | Path,
    table: Literal["evaluations", "stages", "runs"] = "evaluations",
) -> pd.DataFrame:
    """Return every evaluation, stage or run below some folders as a pandas DataFrame.

    Args:
        folders: Folders of fleets, or folders that contain them. Those that cannot be read are left
            out.
        table: "evaluations" has a row for each run, step, task and mode; "stages" one for each run,
            stage and task, with the success at the end of the stage; "runs" one for each run, with
            its metrics and settings.
    """
    if table not in FRAMES:
        raise UnknownNameError("table", table, tuple(FRAMES))
    given = given_paths(folders, "folders")
    for folder in given:
        if not folder.exists():
            raise BadValueError(f"there is no folder {folder}")
    return FRAMES[table](analyse(gather(given)))
