"""Tables of metrics and training time by number of tasks."""

from collections.abc import Iterable, Mapping

import pandas as pd

from recall.analysis.bootstrap import Estimate
from recall.analysis.estimates import shared_sequences
from recall.analysis.frames import Analysis, list_of, runs_of, select
from recall.analysis.measures import FORGETTING, PERFORMANCE, TITLES
from recall.report.tables.pivot import Key, groups_of, main_labels_of, pivot_table
from recall.report.tables.table import Cell, Row, Table
from recall.runs.wording import few

ByLength = Mapping[str, Mapping[int, pd.DataFrame]]
GROUP = "scaling"
LEAST = 3  # number of lengths needed for a table
_UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
_SHARED = (
    "Wall time of a fleet divided by its runs, which train together, as the study that launched it "
    "noted it. Fleets of different sizes, or on different machines, do not compare."
)


def scores_by_length(
    analysis: Analysis, labels: Iterable[str]
) -> dict[str, dict[int, pd.DataFrame]]:
    """Return the rows of each label by number of tasks, for labels with at least LEAST lengths.

    Of each length, only the sequences count that all these labels have, because a label that was
    run on the easy ones alone would look better. If they share none, each keeps its own
    (`lengths_apart`).
    """
    found = {
        label: {length: select(rows, tasks=length) for length in sorted(set(rows.tasks))}
        for label, rows in groups_of(analysis.scores, labels).items()
        if rows.tasks.nunique() >= LEAST
    }
    for length in lengths_of(found):
        there = [groups for groups in found.values() if length in groups]
        if shared := shared_sequences(groups[length] for groups in there):
            for groups in there:
                groups[length] = select(groups[length], sequence=shared)
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


def seconds_of(rows: pd.DataFrame, by_step: bool) -> float | None:
    """Return the mean training time of a run, or of its steps; None if it was not recorded."""
    found = [
        run.seconds / (run.total_steps if by_step else 1)
        for run in runs_of(rows)
        if run.seconds is not None
    ]
    return sum(found) / len(found) if found else None


def scaling_tables(analysis: Analysis) -> list[Table]:
    """Return tables of performance, forgetting and time, if there are enough lengths."""
    found = scores_by_length(analysis, main_labels_of(analysis.scores))
    if not found:
        return []
    scores = pd.concat(part for groups in found.values() for part in groups.values())
    means = [
        pivot_table(
            analysis,
            scores,
            [Key(label, {"label": label}) for label in found],
            [Key(f"{length} tasks", {"tasks": length}, metric) for length in lengths_of(found)],
            notes=_which_sequences(found),
            name=f"{GROUP}-{metric}",
            title=f"From few tasks to many: {TITLES[metric]}",
            corner="method",
            group=GROUP,
        )
        for metric in (PERFORMANCE, FORGETTING)
    ]
    times = [seconds_of(rows, False) for groups in found.values() for rows in groups.values()]
    longest = max((time for time in times if time is not None), default=0.0)
    _, unit, word = next(each for each in _UNITS if longest >= each[0])
    return [
        *means,
        _times(found, "time", f"{word} of training, a run", unit),
        _times(found, "step-time", "milliseconds of training, a step of a run", 0.001),
    ]


def _which_sequences(found: ByLength) -> list[str]:
    """Return a note on each length at which a number is a mean, or is of other sequences."""
    notes = []
    apart = lengths_apart(found)
    for length in lengths_of(found):
        lists = {
            label: list_of(groups[length], "sequence")
            for label, groups in found.items()
            if length in groups
        }
        names = {label: few(each, 8) for label, each in lists.items()}
        first = next(iter(names))
        if length in apart:
            told = "; ".join(f"{label} has {each}" for label, each in names.items())
            notes.append(f"{length} tasks, of other sequences, so not to be compared: {told}.")
        elif len(lists[first]) > 1:
            notes.append(f"{length} tasks: the mean over {names[first]}.")
    return notes


def _times(found: ByLength, name: str, what: str, unit: float) -> Table:
    """Return the times of a whole run, or of a step of it."""
    lengths, by_step = lengths_of(found), name == "step-time"
    rows = []
    for label, groups in found.items():
        times = [seconds_of(groups[n], by_step) if n in groups else None for n in lengths]
        cells = (Cell(None if time is None else Estimate(time / unit)) for time in times)
        rows.append(Row(label, tuple(cells)))
    return Table(
        name=f"{GROUP}-{name}",
        title=f"From few tasks to many: {what}",
        corner="method",
        columns=tuple(f"{length} tasks" for length in lengths),
        rows=tuple(rows),
        notes=(_SHARED,),
        decimals=3 if by_step else 2,
        group=GROUP,
    )
