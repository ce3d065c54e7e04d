"""Build tables of success and time by number of tasks: rows are methods, columns lengths."""

from collections.abc import Mapping, Sequence

import numpy as np

from recall.analysis.bootstrap import Estimate
from recall.analysis.measures import FORGETTING, LOWER_IS_BETTER, PERFORMANCE, TITLES
from recall.analysis.over_sequences import mean_over
from recall.analysis.scores import ScoreBoard, Scores
from recall.report.tables.cells import (
    budget_notes,
    cell,
    main_labels_of,
    shared_sequences,
    with_best_of_columns,
)
from recall.report.tables.table import Cell, Row, Table
from recall.runs.wording import few

ByLength = Mapping[str, Mapping[int, Sequence[Scores]]]
GROUP = "scaling"
LEAST = 3  # number of lengths needed for a table
_MOST_NAMES = 8
_UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
_SHARED = (
    "Wall time of a fleet divided by its runs, which train together, as the study that launched it "
    "noted it. Fleets of different sizes, or on different machines, do not compare."
)


def scores_by_length(
    board: ScoreBoard, labels: Sequence[str]
) -> dict[str, dict[int, list[Scores]]]:
    """Return scores by label and number of tasks, for labels with at least LEAST lengths.

    Of each length, only the sequences count that all these labels have, because a label that was
    run on the easy ones alone would look better. If they share none, each keeps its own
    (`lengths_apart`).
    """
    found: dict[str, dict[int, list[Scores]]] = {}
    for label in labels:
        lengths: dict[int, list[Scores]] = {}
        for scores in board.among([label], board.sequences):
            lengths.setdefault(len(scores.sequence_tasks), []).append(scores)
        if len(lengths) >= LEAST:
            found[label] = {length: lengths[length] for length in sorted(lengths)}
    for length in lengths_of(found):
        there = [groups for groups in found.values() if length in groups]
        if shared := shared_sequences(groups[length] for groups in there):
            for groups in there:
                groups[length] = [each for each in groups[length] if each.sequence in shared]
    return found


def lengths_of(found: ByLength) -> list[int]:
    """Return every number of tasks that a label has, in order."""
    return sorted({length for groups in found.values() for length in groups})


def lengths_apart(found: ByLength) -> list[int]:
    """Return the numbers of tasks at which labels have different sequences, and share none."""
    return [
        length
        for length in lengths_of(found)
        if not shared_sequences(groups[length] for groups in found.values() if length in groups)
    ]


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
    found = scores_by_length(board, main_labels_of(board, board.labels))
    if not found:
        return []
    lengths = lengths_of(found)
    return [
        *(_metric_table(found, lengths, metric) for metric in (PERFORMANCE, FORGETTING)),
        *_time_tables(found, lengths),
    ]


def _columns(lengths: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{length} tasks" for length in lengths)


def _metric_table(found: ByLength, lengths: Sequence[int], metric: str) -> Table:
    rows = []
    for label, groups in found.items():
        cells = []
        for length in lengths:
            group = groups.get(length, [])
            runs = sum(len(scores.runs) for scores in group)
            cells.append(cell(mean_over(group, metric), runs=runs))
        rows.append(Row(label, tuple(cells)))
    everything = [
        scores for groups in found.values() for group in groups.values() for scores in group
    ]
    lower = [metric in LOWER_IS_BETTER] * len(lengths)
    compared = [length not in lengths_apart(found) for length in lengths]
    return Table(
        name=f"{GROUP}-{metric}",
        title=f"From few tasks to many: {TITLES[metric]}",
        corner="method",
        columns=_columns(lengths),
        rows=with_best_of_columns(rows, lower, compared),
        notes=(*budget_notes(everything), *_which_sequences(found)),
        lower=tuple(lower),
        group=GROUP,
    )


def _which_sequences(found: ByLength) -> list[str]:
    """Return a note on each length at which a number is a mean, or is of other sequences."""
    notes = []
    apart = lengths_apart(found)
    for length in lengths_of(found):
        groups = {label: groups[length] for label, groups in found.items() if length in groups}
        sets = {label: _names(group) for label, group in groups.items()}
        if length in apart:
            told = "; ".join(f"{label} has {names}" for label, names in sets.items())
            notes.append(
                f"{length} tasks, of other sequences, so not to be compared, and never bold: "
                f"{told}."
            )
        elif len(next(iter(groups.values()))) > 1:
            notes.append(f"{length} tasks: the mean over {next(iter(sets.values()))}.")
    return notes


def _names(group: Sequence[Scores]) -> str:
    return few([each.sequence for each in group], _MOST_NAMES)


def _time_tables(found: ByLength, lengths: Sequence[int]) -> list[Table]:
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
