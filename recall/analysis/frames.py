"""Tidy pandas frames of what was measured: scores, evaluations, stages and runs.

Metrics, intervals and tables are computed from the frame of scores.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from recall.analysis import metrics
from recall.analysis.collection import Collection, gather
from recall.analysis.labels import family_of, grouped
from recall.analysis.metrics import FORGETTING, PERFORMANCE, RETURN, TRANSFER, Measure
from recall.analysis.references import References
from recall.analysis.run_result import RunResult, is_multi_task
from recall.errors import BadValueError, UnknownNameError
from recall.files.atomic import write_text
from recall.files.paths import given_paths
from recall.runs.evaluations import FIELDS, MODES, RATES

Array = np.ndarray
_WHO = ("label", "method", "preset", "sequence", "seed", "run", "folder")
SCORES = (
    "label", "method", "variant", "sequence", "family", "seed", "position", "task", "tasks",
    "steps_per_task", "evaluations", "window", "run", "trained", "final", "forgotten", "area",
    "alone", "reference", "transfer", "seeds",
)  # fmt: skip
"""The columns of scores, with a row for each complete run of a sequence and each of its tasks.

Of a stage's `evaluations`, `window` count at its end: `trained` is p_i at the end of the own
stage, `final` at that of the sequence, `forgotten` the loss. `area` is AUC_i; those of the
single-task runs compared with are `alone`, their mean `reference`. `transfer` is NaN if nothing is
to gain, or if a task of the sequence lacks a reference. The bootstrap draws from `seeds`, those of
the label on any sequence. Of multi-task runs, what concerns a task's own stage is NaN.
"""
MEASURED = {PERFORMANCE: "final", FORGETTING: "forgotten", TRANSFER: "transfer"}
"""The column of which each metric is a mean."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """Runs, and their scores by one measure of success."""

    collection: Collection
    measure: Measure
    scores: pd.DataFrame
    problems: tuple[str, ...] = ()
    references: Mapping[tuple[str, str, str], References] = field(default_factory=dict)
    """The single-task runs compared with, by label, sequence and task."""


@lru_cache(maxsize=2)  # figures are of the analysis that tables were made of
def analyse(collection: Collection, measure: Measure | None = None) -> Analysis:
    """Return the scores of all complete runs of more than one task.

    Tasks that do not report success have no rows, and sequences without any that does neither.
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
    final, trained = (
        successes(curve, measure.window)
        for successes in (metrics.final_successes, metrics.trained_successes)
    )
    values = np.stack([final, trained, metrics.areas(curve)])
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
    parts = []
    for run, mode in product(collection.runs, MODES):
        count, tasks = len(run.steps), len(run.tasks)
        part = {
            **_who(run),
            "step": np.repeat(run.steps, tasks),
            "position": np.tile(np.arange(tasks), count),
            "task": np.tile(np.array(run.tasks, object), count),
            "mode": mode,
        }
        for name in FIELDS:
            known = (mode, name) in run.curves
            part[name] = run.curve(mode, name).success.ravel() if known else np.nan
        parts.append(pd.DataFrame(part).dropna(subset=list(FIELDS), how="all"))
    if not parts:
        return pd.DataFrame(columns=[*_WHO, "step", "position", "task", "mode", *FIELDS])
    return pd.concat(parts, ignore_index=True)


def _who(run: RunResult) -> dict[str, Any]:
    own = {"run": run.name, "folder": str(run.folder)}
    return {name: own[name] if name in own else getattr(run, name) for name in _WHO}


def stages_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a frame with a row for each run, finished stage and task, trained or not.

    Runs that train all tasks at once have none.
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
    names = ("stage", "trained", "position", "task", measure.field)
    return pd.DataFrame(rows, columns=[*_WHO, *names])


def runs_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a frame with a row for each run, with its metrics and settings."""
    runs = analysis.collection.runs
    means = analysis.scores.groupby("run", sort=False)[list(MEASURED.values())].mean()
    settings = sorted({name for run in runs for name in run.settings})

    def plain(value: Any) -> Any:
        return " ".join(map(str, value)) if isinstance(value, list | tuple) else value

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
                metric: means.at[run, column] if run in means.index else np.nan
                for metric, column in MEASURED.items()
            },
            **{name: plain(run.settings.get(name)) for name in settings},
        }
        for run in runs
    )


FRAMES = {
    "evaluations": lambda analysis: evaluations_frame(analysis.collection),
    "stages": stages_frame,
    "runs": runs_frame,
}


def write_data(analysis: Analysis, folder: Path) -> None:
    """Write all frames but the scores as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FRAMES.items():
        write_text(folder / f"{name}.csv", make(analysis).to_csv(index=False, lineterminator="\n"))


def frame(
    folders: Iterable[str | Path] | str | Path,
    table: Literal["evaluations", "stages", "runs"] = "evaluations",
) -> pd.DataFrame:
    """Return every evaluation, stage or run below some folders as a pandas DataFrame.

    Args:
        folders: Folders of fleets, or folders that contain them; what cannot be read is left out.
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
