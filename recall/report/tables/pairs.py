"""Tables of pairs of tasks: means and counts over the pairs that all methods have."""

from dataclasses import replace

import numpy as np
import pandas as pd

from recall.analysis.bootstrap import Estimate, round_for_comparison
from recall.analysis.estimates import shared_sequences
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import PAIRS, main_labels
from recall.report import paper
from recall.report.tables.pivot import Key, groups_of, label_keys, papers_row, pivot_table
from recall.report.tables.table import Cell, Row, Table

_LEAST = 2  # number of pairs needed for a mean
_MEANS = {
    "first_task": Key("first task", {"position": 0}, "final"),
    "second_task": Key("second task", {"position": 1}, "final"),
    "first_task_forgetting": Key("first task's forgetting", {"position": 0}, "forgotten"),
}
"""The means by the names that they have in paper.json."""
_COUNTS = {
    "second_tasks_with_zero_success": "second task never succeeds",
    "second_tasks_below_half": "second task succeeds in less than half",
    "first_tasks_dropping_over_0.1": "first task loses more than 0.1",
}
"""Headings of the counts by the names that they have in paper.json."""


def pair_tables(analysis: Analysis) -> list[Table]:
    """Return means and counts over the pairs of tasks that all methods have.

    A method that was run on the easy pairs alone would look better than one that was run on all.
    Labels that lack a shared pair, such as variants, are left out.
    """
    scores = select(analysis.scores, family=PAIRS)
    groups = groups_of(scores, list_of(scores, "label"))
    main = main_labels(list_of(scores, "run"))
    shared = shared_sequences(groups[label] for label in main)
    if len(shared) < _LEAST:
        return []
    shown = {
        label: select(rows, sequence=shared)
        for label, rows in groups.items()
        if set(shared) <= set(rows.sequence)
    }
    notes = [f"Over {len(shared)} pairs that all methods have; the paper: 100."]
    if left_out := [label for label in groups if label not in shown]:
        notes.append(f"Left out, as run on other pairs: {', '.join(left_out)}.")
    names = {key.heading: name for name, key in _MEANS.items()}
    rows = label_keys(analysis, shown)
    means = pivot_table(
        analysis,
        pd.concat(shown.values()),
        rows,
        list(_MEANS.values()),
        published=lambda row, column: paper.over_pairs(row.method, names[column.heading]),
        notes=notes,
        name="pairs",
        title="Pairs of tasks: means over pairs",
        group="pairs",
    )
    counts = replace(
        means,
        name="pairs-counts",
        title="Pairs of tasks: how many",
        columns=tuple(_COUNTS.values()),
        rows=tuple(row for key in rows for row in _counts(key, shown[key.heading])),
        decimals=0,
    )
    return [means, counts]


def _counts(key: Key, rows: pd.DataFrame) -> list[Row]:
    """Return our row of counts and the paper's."""
    means = rows.groupby(["sequence", "position"])[["final", "forgotten"]].mean()
    seconds = round_for_comparison(means["final"].xs(1, level="position"))
    lost = round_for_comparison(means["forgotten"].xs(0, level="position"))
    ours = [Cell(Estimate(float(np.sum(found)))) for found in (seconds == 0.0, seconds < 0.5)]
    ours.append(Cell() if np.isnan(lost).all() else Cell(Estimate(float(np.sum(lost > 0.1)))))
    theirs = [paper.over_pairs(key.method, name) for name in _COUNTS]
    return [Row(key.heading, tuple(ours)), *papers_row(key.heading, theirs)]
