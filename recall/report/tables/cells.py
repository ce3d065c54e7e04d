"""Build table cells from estimates, mark the best ones, and write the notes below a table."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Sequence

from recall.analysis.bootstrap import Estimate, Sampled, round_for_comparison
from recall.analysis.departures import departures
from recall.analysis.differences import paired_difference, shared_seeds
from recall.analysis.labels import settings_in_words
from recall.analysis.main_labels import main_labels
from recall.analysis.over_sequences import mean_over
from recall.analysis.references import STEPS
from recall.analysis.scores import ScoreBoard, Scores
from recall.analysis.without_success import left_out
from recall.report.tables.paper_rows import has_papers_settings
from recall.report.tables.table import Cell, Row
from recall.runs.wording import spanned


def cell(
    ours: Sampled | None, paper: Estimate | None = None, runs: int = 0, same: bool = False
) -> Cell:
    """Return a cell with our estimate and the paper's; `same` if both have the same settings."""
    return Cell(None if ours is None else ours.estimate, paper, runs=runs, same_settings=same)


def difference_cell(pairs: Sequence[tuple[Scores, Scores]], metric: str) -> Cell:
    """Return the cell for the first label minus the second, over these sequences."""
    runs = min(shared_seeds(*pair) for pair in pairs)
    return Cell(paired_difference(pairs, metric), runs=runs)


def metric_cell(
    scores: Scores | None,
    metric: str,
    paper: Estimate | None = None,
    varied: frozenset[str] = frozenset(),
) -> Cell:
    """Return the cell for one metric of one label on one sequence.

    `varied` are the settings that the table is about, which the paper varied too.
    """
    if scores is None:
        return Cell(paper=paper)
    same = has_papers_settings(scores, varied)
    return cell(scores.metric(metric), paper, len(scores.runs), same)


def mean_cell(scores: Sequence[Scores], metric: str) -> Cell:
    """Return the cell for a label's mean of one metric over sequences, empty if one lacks it."""
    mean = mean_over(scores, metric)
    return Cell() if mean is None else cell(mean, runs=sum(len(each.runs) for each in scores))


def with_best_bold(cells: Sequence[Cell], lower: bool = False) -> tuple[Cell, ...]:
    """Mark our best cell in bold, and every cell whose interval meets the best one's.

    Of equal values, the one with the narrowest interval towards the others is the best. Intervals
    that only touch meet too: an interval of one point, such as [0, 0], often ends where another one
    does. Nothing is bold if there is only one cell to choose from.
    """
    there = [each.ours for each in cells if each.ours and not math.isnan(each.ours.value)]
    if len(there) < 2:
        return tuple(cells)
    sign = -1.0 if lower else 1.0
    best = max(there, key=lambda each: (_worth(each.value, sign), _floor(each, sign)))
    return tuple(
        dataclasses.replace(each, bold=True)
        if each.ours is not None and _as_good(each.ours, best, sign)
        else each
        for each in cells
    )


def _as_good(estimate: Estimate, best: Estimate, sign: float) -> bool:
    if _worth(estimate.value, sign) == _worth(best.value, sign):
        return True
    reach = max(_worth(bound, sign) for bound in estimate.interval or (estimate.value,))
    return reach >= _floor(best, sign)


def _floor(estimate: Estimate, sign: float) -> float:
    """Return the worth of the worst value of the interval."""
    return min(_worth(bound, sign) for bound in estimate.interval or (estimate.value,))


def _worth(value: float, sign: float) -> float:
    """Return a value that compares; `sign` is negative where less is better."""
    return sign * float(round_for_comparison(value))


def with_best_of_columns(
    rows: Sequence[Row], lower: Sequence[bool], compared: Sequence[bool] = ()
) -> tuple[Row, ...]:
    """Mark the best of each column in bold; `lower` says per column whether less is better.

    `compared` says per column whether its cells compare at all; all columns do if it is empty.
    """
    columns = [
        with_best_bold([row.cells[place] for row in rows], less)
        if not compared or compared[place]
        else [row.cells[place] for row in rows]
        for place, less in enumerate(lower)
    ]
    return tuple(
        Row(row.heading, tuple(column[number] for column in columns))
        for number, row in enumerate(rows)
    )


def main_labels_of(board: ScoreBoard, labels: Collection[str]) -> list[str]:
    """Return those of the labels that stand for their methods, without variants."""
    wanted = set(labels)
    return main_labels(run for run in board.collection.runs if run.label in wanted)


def shared_sequences(groups: Iterable[Iterable[Scores]]) -> set[str]:
    """Return the sequences that are in every group of scores, over which means compare."""
    sets = [{each.sequence for each in group} for group in groups]
    return set.intersection(*sets) if sets else set()


def method_of(board: ScoreBoard, label: str) -> str:
    """Return the registered name of the method behind a label."""
    return next(run.method for run in board.collection.runs if run.label == label)


def budget_notes(scores: Iterable[Scores]) -> tuple[str, ...]:
    """Return notes on how many runs, steps and evaluations our numbers are based on."""
    scores = list(scores)
    if not scores:
        return ()
    runs = [len(each.runs) for each in scores]
    noun = "run" if max(runs) == 1 else "runs"
    steps = spanned([each.steps_per_task for each in scores])
    return (
        f"{spanned(runs)} {noun}, {steps} steps per task. {window_note(scores)}",
        *filter(None, [left_out(task for each in scores for task in each.silent)]),
        *_departures(scores),
    )


def window_note(scores: Iterable[Scores]) -> str:
    """Return a sentence on how many evaluations the success at the end of a stage is a mean of."""
    used = sorted({(each.window, each.evaluations) for each in scores})
    if any(window > 1 for window, _ in used):
        shown = " or ".join(f"{window} of {evaluations}" for window, evaluations in used)
        return f"Values at the end of a stage are means of its last {shown} evaluations."
    count = spanned(evaluations for _, evaluations in used)
    return f"Values at the end of a stage are of its last evaluation, of {count}."


def _departures(scores: Sequence[Scores]) -> list[str]:
    """Return the settings of the experiment that differ from the preset's, unless labels do."""
    found: dict[str, dict[str, None]] = {}
    for each in scores:
        run = each.runs[0]
        silent = {
            name: value
            for name, value in departures(run.method, run.settings, run.preset).items()
            if name not in run.changes and name != STEPS
        }
        if silent and run.source == "recall":
            found.setdefault(settings_in_words(silent), {})[each.label] = None
    return [f"Not the preset's: {words} in {'; '.join(labels)}." for words, labels in found.items()]
