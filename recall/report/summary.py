"""Summarise the results in sentences: which method performs best and which forgets least."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from recall.analysis.bootstrap import Estimate, Sampled
from recall.analysis.differences import paired_difference
from recall.analysis.families import by_family, family_of, family_title
from recall.analysis.measures import (
    FORGETTING,
    LOWER_IS_BETTER,
    METRICS,
    PERFORMANCE,
    TITLES,
    TRANSFER,
)
from recall.analysis.over_sequences import mean_over
from recall.analysis.scores import ScoreBoard
from recall.analysis.ties import settled
from recall.report.tables.cells import main_labels_of, window_note, with_best_bold
from recall.report.tables.per_sequence import display_name
from recall.report.tables.table import Cell, estimate_text
from recall.runs.wording import counted, spanned

_VERBS = {
    PERFORMANCE: "performs best",
    FORGETTING: "forgets least",
    TRANSFER: "transfers most to new tasks",
}
ENOUGH_RUNS = 5
_SHORT = 6  # most tasks that a title lists by name
_FEW = 3  # most names in a sentence; any further ones are counted


@dataclass(frozen=True)
class Verdict:
    """The findings on a set of sequences that belong together."""

    title: str
    sentences: tuple[str, ...]


def scope(board: ScoreBoard) -> str:
    """Return a sentence that says how many methods, sequences and runs there are."""
    runs = board.collection.runs
    complete = sum(run.complete for run in runs)
    sequences = len(board.collection.sequential.sequences)
    singles = len(dict.fromkeys(run.tasks for run in board.collection.single.runs))
    what = [counted(sequences, "sequence")] if sequences else []
    what += [counted(singles, "single task")] if singles else []
    state = "all complete" if complete == len(runs) else f"{complete} of them complete"
    return (
        f"{counted(len(board.collection.labels), 'method or variant', 'methods and variants')} on "
        f"{' and '.join(what)}: {counted(len(runs), 'run')}, {state}."
    )


def measured(board: ScoreBoard) -> str:
    """Return sentences that explain how success is measured."""
    measure = board.measure
    when = "at any step" if measure.field == "success" else "at the last step"
    return (
        f"Success is reached {when} of an episode, by {measure.mode} policies. "
        f"{window_note(board.scores.values()) + ' ' if board.scores else ''}Brackets hold 90 % "
        "bootstrap intervals over runs; those of differences hold Student's t intervals over seeds."
    )


def few_seeds(board: ScoreBoard) -> str:
    """Return a warning if intervals are of fewer than five runs, or an empty string."""
    complete = [run for run in board.collection.runs if run.complete]
    counts = list(Counter((run.label, run.sequence) for run in complete).values())
    if not counts or min(counts) >= ENOUGH_RUNS:
        return ""
    if max(counts) == 1:
        return "A single run of each method says nothing of the spread: train five seeds or more."
    return (
        f"There are only {spanned(counts)} runs of a method and sequence: their intervals are too "
        "narrow to rely on. Train five seeds or more."
    )


def verdicts(board: ScoreBoard) -> list[Verdict]:
    """Return the best method in each metric per family, among those that ran all of it."""
    found = []
    for title, members in _arenas(board):
        ran_all = [
            label for label in board.labels if all(board.get(label, member) for member in members)
        ]
        # A method's variants count where its plain form was not run, even if it was elsewhere.
        labels = main_labels_of(board, ran_all)
        sentences = [
            sentence
            for metric in METRICS
            if (sentence := _sentence(board, labels, members, metric)) is not None
        ]
        found.append(Verdict(title, tuple(sentences) or (_nobody(members),)))
    return [*found, *_without_success(board)]


def nothing_to_compare(board: ScoreBoard) -> str:
    """Return a sentence for a report without verdicts."""
    if board.collection.sequential.runs:
        return "No run of a sequence is complete: there is nothing to compare yet."
    return "All runs are of single tasks: their tables and figures show what was learnt."


def _without_success(board: ScoreBoard) -> list[Verdict]:
    silent = board.collection.without_success
    sequence = "Its tasks do not report success: the table of returns shows what was learnt."
    single = "It does not report success: the table of returns shows what was learnt."
    return [
        *(
            Verdict(display_name(name, part.runs[0].tasks), (sequence,))
            for name, part in silent.sequential.by_sequence().items()
        ),
        *(Verdict(f"{task}, learnt alone", (single,)) for task in silent.single.sequences),
    ]


def _arenas(board: ScoreBoard) -> list[tuple[str, list[str]]]:
    """Return the families of sequences, followed by each remaining sequence on its own."""
    return [(_title(board, each), each) for each in by_family(board.sequences).values()]


def _title(board: ScoreBoard, members: Sequence[str]) -> str:
    first = members[0]
    if len(members) > 1:
        return f"{family_title(family_of(first))}, {len(members)} sequences"
    scores = next(each for each in board.scores.values() if each.sequence == first)
    tasks = scores.sequence_tasks
    return display_name(first, tasks) if len(tasks) <= _SHORT else f"{first}, {len(tasks)} tasks"


def _nobody(members: Sequence[str]) -> str:
    return f"No method was run on all {len(members)} sequences, so none can be compared here."


def _sentence(
    board: ScoreBoard, labels: Sequence[str], members: Sequence[str], metric: str
) -> str | None:
    # Every label has scores on all members.
    groups = {label: board.among([label], members) for label in labels}
    means = {label: mean_over(groups[label], metric) for label in labels}
    there = {label: mean for label, mean in means.items() if mean and not math.isnan(mean.value)}
    if not there:
        return None
    cells = dict(zip(there, _marked(list(there.values()), metric), strict=True))
    lower = metric in LOWER_IS_BETTER
    order = sorted(there, key=lambda label: settled(there[label].value), reverse=not lower)
    best, *others = order
    if not others:
        return f"{TITLES[metric].capitalize()} of {best}: {_text(cells[best])}."
    differences = {label: _difference(board, best, label, members, metric) for label in others}
    as_good = [
        label
        for label in others
        if (cells[label].bold if (found := differences[label]) is None else _contains_zero(found))
    ]
    if as_good:
        named = ", ".join(
            f"{label} with {_text(cells[label])}{_by(differences[label])}"
            for label in as_good[:_FEW]
        )
        more = f" and {len(as_good) - _FEW} more" if len(as_good) > _FEW else ""
        end = f"{named}{more} cannot be told from it"
    else:
        end = f"next is {others[0]} with {_text(cells[others[0]])}{_by(differences[others[0]])}"
    return f"{best} {_VERBS[metric]}: {TITLES[metric]} {_text(cells[best])}; {end}."


def _difference(
    board: ScoreBoard, best: str, other: str, members: Sequence[str], metric: str
) -> Estimate | None:
    """Return the metric of `best` minus that of `other`, seed by seed; None without an interval.

    Where two methods share seeds this decides, and not whether their own intervals meet.
    """
    pairs = [
        (first, second)
        for member in members
        if (first := board.get(best, member)) and (second := board.get(other, member))
    ]
    difference = paired_difference(pairs, metric)
    return difference if difference is not None and difference.interval else None


def _contains_zero(difference: Estimate) -> bool:
    low, high = settled(difference.interval or (difference.value, difference.value))
    return bool(low <= 0.0 <= high)


def _by(difference: Estimate | None) -> str:
    return "" if difference is None else f" (a difference of {estimate_text(difference)})"


def _marked(found: Sequence[Sampled], metric: str) -> tuple[Cell, ...]:
    cells = [Cell(each.estimate) for each in found]
    return with_best_bold(cells, metric in LOWER_IS_BETTER)


def _text(cell: Cell) -> str:
    return estimate_text(cell.ours)
