"""Build tables of success and time by number of tasks: rows are methods, columns lengths."""

from collections.abc import Mapping, Sequence

import numpy as np

from recall.report.tables.cells import (
    budget_notes,
    cell,
    main_labels,
    with_best_of_columns,
)
from recall.report.tables.table import Cell, Row, Table
from recall.results.bootstrap import Estimate, Sampled, mean_of
from recall.results.measures import FORGETTING, LOWER_IS_BETTER, PERFORMANCE, TITLES
from recall.results.scores import ScoreBoard, Scores

GROUP = "scaling"
LEAST = 3  # number of lengths needed for a table
_UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
_SHARED = (
    "Wall time of a fleet divided by its runs, which train together, as the study that launched it "
    "noted it. Fleets of different sizes, or on different machines, do not compare."
)


def scores_by_length(
    board: ScoreBoard, labels: Sequence[str]
) -> dict[str, dict[int, list[Scores]]]:
    """Return scores by label and number of tasks, for labels with at least LEAST lengths."""
    found: dict[str, dict[int, list[Scores]]] = {}
    for label in labels:
        lengths: dict[int, list[Scores]] = {}
        for scores in board.among([label], board.sequences):
            lengths.setdefault(len(scores.tasks), []).append(scores)
        if len(lengths) >= LEAST:
            found[label] = {length: lengths[length] for length in sorted(lengths)}
    return found


def metric_of(group: Sequence[Scores], metric: str) -> Sampled | None:
    """Return the mean of a metric over the sequences of one length."""
    parts = [part for scores in group if (part := scores.metric(metric)) is not None]
    return mean_of(parts) if parts else None


def seconds_of_run(group: Sequence[Scores]) -> float | None:
    """Return the training time of a run in seconds, or None if it was not recorded."""
    found = [run.seconds for scores in group for run in scores.runs if run.seconds is not None]
    return float(np.mean(found)) if found else None


def milliseconds_of_step(group: Sequence[Scores]) -> float | None:
    """Return the training time per step of a run in milliseconds, or None if not recorded."""
    found = [
        1000.0 * run.seconds / run.total_steps
        for scores in group
        for run in scores.runs
        if run.seconds is not None
    ]
    return float(np.mean(found)) if found else None


def scaling_tables(board: ScoreBoard) -> list[Table]:
    """Return tables of performance, forgetting and time, if there are enough lengths."""
    found = scores_by_length(board, main_labels(board, board.labels))
    if not found:
        return []
    lengths = sorted({length for groups in found.values() for length in groups})
    return [
        *(_metric_table(found, lengths, metric) for metric in (PERFORMANCE, FORGETTING)),
        *_time_tables(found, lengths),
    ]


def _columns(lengths: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{length} tasks" for length in lengths)


def _metric_table(
    found: Mapping[str, Mapping[int, list[Scores]]], lengths: Sequence[int], metric: str
) -> Table:
    rows = []
    for label, groups in found.items():
        cells = []
        for length in lengths:
            group = groups.get(length, [])
            runs = sum(len(scores.runs) for scores in group)
            cells.append(cell(metric_of(group, metric), runs=runs))
        rows.append(Row(label, tuple(cells)))
    everything = [
        scores for groups in found.values() for group in groups.values() for scores in group
    ]
    return Table(
        name=f"{GROUP}-{metric}",
        title=f"From few tasks to many: {TITLES[metric]}",
        corner="method",
        columns=_columns(lengths),
        rows=with_best_of_columns(rows, [metric in LOWER_IS_BETTER] * len(lengths)),
        notes=(
            *budget_notes(everything),
            "The mean over sequences where there are several of one length.",
        ),
        lower=(metric in LOWER_IS_BETTER,) * len(lengths),
        group=GROUP,
    )


def _time_tables(
    found: Mapping[str, Mapping[int, list[Scores]]], lengths: Sequence[int]
) -> list[Table]:
    """Return the times of a whole run and of a step; empty if no times were recorded."""
    seconds = {
        (label, length): time
        for label, groups in found.items()
        for length, group in groups.items()
        if (time := seconds_of_run(group)) is not None
    }
    if not seconds:
        return []
    _, unit, word = next(each for each in _UNITS if max(seconds.values()) >= each[0])
    whole = {place: time / unit for place, time in seconds.items()}
    steps = {
        (label, length): time
        for label, length in seconds
        if (time := milliseconds_of_step(found[label][length])) is not None
    }
    return [
        _time_table("time", f"{word} of training, a run", whole, lengths, 2),
        _time_table("step-time", "milliseconds of training, a step of a run", steps, lengths, 3),
    ]


def _time_table(
    name: str,
    what: str,
    times: Mapping[tuple[str, int], float],
    lengths: Sequence[int],
    decimals: int,
) -> Table:
    rows = []
    for label in dict.fromkeys(label for label, _ in times):
        there = [times.get((label, length)) for length in lengths]
        cells = tuple(Cell(None if time is None else Estimate(time)) for time in there)
        rows.append(Row(label, cells))
    return Table(
        name=f"{GROUP}-{name}",
        title=f"From few tasks to many: {what}",
        corner="method",
        columns=_columns(lengths),
        rows=tuple(rows),
        notes=(_SHARED,),
        lower=(True,) * len(lengths),
        decimals=decimals,
        group=GROUP,
    )
