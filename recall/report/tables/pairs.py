"""Build the tables of pairs of tasks: means and counts over the pairs that all methods have."""

from collections.abc import Mapping, Sequence

import numpy as np

from recall.analysis.bootstrap import Estimate, Sampled, mean_of
from recall.analysis.families import is_pair, numbers_of_pair
from recall.analysis.scores import ScoreBoard, Scores
from recall.analysis.ties import settled
from recall.analysis.together import learnt_together
from recall.report import paper
from recall.report.tables.cells import (
    budget_notes,
    cell,
    main_labels_of,
    shared_sequences,
    with_best_of_columns,
)
from recall.report.tables.paper_rows import has_papers_settings, paper_notes, with_paper_rows
from recall.report.tables.table import Cell, Row, Table
from recall.runs.wording import few

_LEAST = 2  # number of pairs needed for a mean
_MOST_NAMES = 8


def pair_tables(board: ScoreBoard) -> list[Table]:
    """Return means and counts over the pairs of tasks that all methods have.

    A method that was run on the easy pairs alone would look better than one that was run on all.
    Labels that lack some of the shared pairs (a variant, or all if too few are shared) keep their
    own pairs, but are never marked as best; the notes name them.
    """
    names = [name for name in board.sequences if is_pair(name)]
    groups: dict[str, list[Scores]] = {}
    for scores in board.among(board.labels, names):
        groups.setdefault(scores.label, []).append(scores)
    groups = {label: group for label, group in groups.items() if len(group) >= _LEAST}
    if not groups:
        return []
    shared = shared_sequences(groups[label] for label in main_labels_of(board, groups))
    compared = {
        label: [each for each in group if each.sequence in shared]
        for label, group in groups.items()
        if len(shared) >= _LEAST and shared <= {each.sequence for each in group}
    }
    shown = groups | compared
    notes = (
        *budget_notes([each for group in shown.values() for each in group]),
        *_which_pairs(groups, compared),
    )
    methods = [group[0].method for group in shown.values()]
    means = {label: Row(label, _pair_means(group)) for label, group in shown.items()}
    marked = with_best_of_columns([means[label] for label in compared], [False, False, True])
    means |= {row.heading: row for row in marked}
    best = with_paper_rows(list(means.values()), methods)
    counts = [Row(label, _pair_counts(group)) for label, group in shown.items()]
    notes += paper_notes(best, [group[0] for group in shown.values()])
    return [
        Table(
            name="pairs",
            title="Pairs of tasks: means over pairs",
            corner="method",
            columns=("first task", "second task", "first task's forgetting"),
            rows=best,
            notes=notes,
            lower=(False, False, True),
            group="pairs",
        ),
        Table(
            name="pairs-counts",
            title="Pairs of tasks: how many",
            corner="method",
            columns=(
                "second task never succeeds",
                "second task succeeds in less than half",
                "first task loses more than 0.1",
            ),
            rows=with_paper_rows(counts, methods),
            notes=notes,
            lower=(True, True, True),
            decimals=0,
            group="pairs",
        ),
    ]


def _which_pairs(groups: dict[str, list[Scores]], compared: dict[str, list[Scores]]) -> list[str]:
    """Return notes on the pairs that the numbers are of, and on labels that are not compared."""
    shown = ", ".join(f"{label} {len(group)}" for label, group in (groups | compared).items())
    notes = [f"Pairs: {shown}; the paper: 100."]
    more = [
        f"{label} {len(groups[label]) - len(group)}"
        for label, group in compared.items()
        if len(groups[label]) > len(group)
    ]
    if more:
        pairs = _numbers(next(iter(compared.values())))
        notes.append(
            f"Only pairs that all methods have count: {pairs}. Left out: {', '.join(more)}."
        )
    others = {label: group for label, group in groups.items() if label not in compared}
    if others:
        sets = "; ".join(f"{label} has {_numbers(group)}" for label, group in others.items())
        notes.append(f"Of other pairs, so not to be compared, and never bold: {sets}.")
    return notes


def _numbers(group: Sequence[Scores]) -> str:
    return few([numbers_of_pair(each.sequence) for each in group], _MOST_NAMES)


def _plain_method(group: Sequence[Scores]) -> str:
    """Return the method to compare with in the paper, or an empty string for a variant."""
    return "" if group[0].runs[0].changes else group[0].method


def _pair_means(group: Sequence[Scores]) -> tuple[Cell, ...]:
    method, together = _plain_method(group), learnt_together(group[0].method)
    means: Mapping[str, list[Sampled]] = {
        "first_task": [each.at_end(0) for each in group],
        "second_task": [each.at_end(1) for each in group],
        "first_task_forgetting": [each.forgotten(0) for each in group if not together],
    }
    runs, same = sum(len(each.runs) for each in group), all(map(has_papers_settings, group))
    return tuple(
        cell(mean_of(parts) if parts else None, paper.over_pairs(method, what), runs, same)
        for what, parts in means.items()
    )


def _pair_counts(group: Sequence[Scores]) -> tuple[Cell, ...]:
    method = _plain_method(group)
    seconds = settled([each.final[:, 1].mean() for each in group])
    lost = settled([(each.trained - each.final)[:, 0].mean() for each in group])
    never = paper.over_pairs(method, "second_tasks_with_zero_success")
    little = paper.over_pairs(method, "second_tasks_above_zero_below_half")
    below = paper.over_pairs(method, "second_tasks_below_half")
    if never and little:
        below = Estimate(never.value + little.value)
    dropping = paper.over_pairs(method, "first_tasks_dropping_over_0.1")
    counts = (
        (np.sum(seconds == 0.0), never),
        (np.sum(seconds < 0.5), below),
        (np.sum(lost > 0.1), dropping),
    )
    same = all(map(has_papers_settings, group))
    cells = [Cell(Estimate(float(ours)), theirs, same_settings=same) for ours, theirs in counts]
    if learnt_together(group[0].method):
        cells[-1] = Cell()
    return tuple(cells)
