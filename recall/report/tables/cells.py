"""Build table cells from estimates, mark the best ones, and write the notes below a table."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Sequence

from recall.report.paper import published
from recall.report.tables.table import Cell, Row
from recall.results.bootstrap import Estimate, Sampled
from recall.results.collection import IMPORTED
from recall.results.labels import departures, in_words
from recall.results.scores import ScoreBoard, Scores
from recall.results.wording import spanned
from recall.worlds.continual_world import TASKS as NUMBERED_TASKS


def cell(ours: Sampled | None, paper: Estimate | None = None, runs: int = 0) -> Cell:
    """Return a cell with our estimate and the paper's."""
    return Cell(None if ours is None else ours.estimate, paper, runs=runs)


def metric_cell(scores: Scores | None, metric: str, paper: Estimate | None = None) -> Cell:
    """Return the cell for one metric of one label on one sequence."""
    if scores is None:
        return Cell(paper=paper)
    return cell(scores.metric(metric), paper, len(scores.runs))


def with_best_bold(cells: Sequence[Cell], lower: bool = False) -> tuple[Cell, ...]:
    """Mark our best cell in bold, and every cell whose interval overlaps with the best one's.

    Nothing is bold if there is only one cell to choose from.
    """
    there = [each.ours for each in cells if each.ours and not math.isnan(each.ours.value)]
    if len(there) < 2:
        return tuple(cells)
    sign = -1.0 if lower else 1.0
    best = max(there, key=lambda estimate: sign * estimate.value)
    return tuple(
        dataclasses.replace(each, bold=True)
        if each.ours is not None and _as_good(each.ours, best, sign)
        else each
        for each in cells
    )


def _as_good(estimate: Estimate, best: Estimate, sign: float) -> bool:
    if estimate.value == best.value:
        return True
    reach = max(sign * bound for bound in estimate.interval or (estimate.value,))
    floor = min(sign * bound for bound in best.interval or (best.value,))
    return reach > floor


def with_best_of_columns(rows: Sequence[Row], lower: Sequence[bool]) -> tuple[Row, ...]:
    """Mark the best of each column in bold; `lower` says per column whether less is better."""
    columns = [
        with_best_bold([row.cells[place] for row in rows], less) for place, less in enumerate(lower)
    ]
    return tuple(
        Row(row.heading, tuple(column[number] for column in columns))
        for number, row in enumerate(rows)
    )


def main_labels(board: ScoreBoard, labels: Collection[str]) -> list[str]:
    """Return one label per method, without variants; all variants if a method has no plain runs."""
    about = {run.label: run for run in board.collection.runs if run.label in set(labels)}
    plain = {run.method for run in about.values() if not run.variant}
    return [
        label
        for label in labels
        if about[label].variant in ("", IMPORTED) or about[label].method not in plain
    ]


def method_of(board: ScoreBoard, label: str) -> str:
    """Return the registered name of the method behind a label."""
    return next(run.method for run in board.collection.runs if run.label == label)


def budget_notes(scores: Iterable[Scores], paper: bool = True) -> tuple[str, ...]:
    """Return notes on how many runs and steps our numbers and the paper's are based on."""
    scores = list(scores)
    if not scores:
        return ()
    note = (
        f"Ours: {spanned([len(each.runs) for each in scores])} runs, "
        f"{spanned([each.steps_per_task for each in scores])} steps per task."
    )
    if paper:
        facts = published()
        note += (
            f" The paper: {facts['seeds']} runs, {facts['steps_per_task']:,} steps per task, "
            "the simulator of 2021."
        )
    return note, *_departures(scores)


def _departures(scores: Sequence[Scores]) -> list[str]:
    """Return the non-default settings that the runs' labels do not mention."""
    found: dict[str, dict[str, None]] = {}
    for each in scores:
        run = each.runs[0]
        silent = {
            name: value
            for name, value in departures(run.method, run.settings).items()
            if name not in run.changes and not name.startswith(("schedule.", "log."))
        }
        if silent and run.source == "recall":
            found.setdefault(in_words(silent), {})[each.label] = None
    return [f"Not the defaults: {words} in {', '.join(labels)}." for words, labels in found.items()]


def _options(steps: int, tasks: Iterable[str]) -> str:
    """Return the options that give a study these tasks and this number of steps."""
    scale = steps / published()["steps_per_task"]
    others = [] if set(tasks) <= set(NUMBERED_TASKS) else [" --sequences", *tasks]
    return " ".join(others) + ("" if scale == 1 else f" --scale {scale:g}")


def transfer_note(scores: Iterable[Scores]) -> tuple[str, ...]:
    """Return a note on what to run if single-task runs are missing for comparison."""
    missing: dict[int, dict[str, None]] = {}
    for each in scores:
        if each.missing_references:
            missing.setdefault(each.steps_per_task, {}).update(
                dict.fromkeys(each.missing_references)
            )
    return tuple(
        f"Forward transfer is left out: nothing to compare with was found for {', '.join(tasks)}, "
        f"learnt alone in {steps:,} steps. `recall study reference{_options(steps, tasks)}` trains "
        "single tasks; name their folder too, or give it as --reference."
        for steps, tasks in missing.items()
    )
