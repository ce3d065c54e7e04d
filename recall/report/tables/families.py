"""Tables of the sequences of CW3 or CW6 together: metrics, differences, tasks and transfer."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from recall.analysis.bootstrap import Estimate
from recall.analysis.estimates import shared_sequences
from recall.analysis.families import TRIPLETS, family_title, number_in_family
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.measures import METRICS, PERFORMANCE, TITLES, TRANSFER
from recall.report import paper
from recall.report.tables.pivot import (
    Key,
    difference_cell,
    groups_of,
    label_keys,
    main_labels_of,
    metric_keys,
    pivot_table,
    square,
)
from recall.report.tables.table import Table

OF_INTERVALS = "The intervals of differences are Student's t intervals over seeds."


class Family(NamedTuple):
    """The scores of a family on the sequences that all its labels share."""

    name: str
    groups: Mapping[str, pd.DataFrame]
    """The rows of each label."""
    notes: tuple[str, ...]
    """Which sequences and labels are left out, if any."""

    @property
    def scores(self) -> pd.DataFrame:
        """Return the rows of all labels."""
        return pd.concat(self.groups.values())


def family_tables(analysis: Analysis) -> list[Table]:
    """Return all tables of CW3 and of CW6."""
    tables = []
    for name in TRIPLETS:
        scores = select(analysis.scores, family=name)
        scores = select(scores, label=main_labels_of(scores))
        if scores.sequence.nunique() == paper.FAMILY_SIZE:
            tables.append(_means(analysis, name, scores))
        if len(scores):
            # The paper's transfer alone is no result of these runs.
            metrics = [key.value for key in metric_keys(scores)]
            tables += [
                _metric(analysis, name, scores, metric, metric == metrics[-1]) for metric in metrics
            ]
    families = list(_families(analysis))
    for family in families:
        tables += [_differences(family, metric) for metric in METRICS]
    for family in families:
        tables.append(_tasks(analysis, family, "learned", "trained"))
        tables.append(_tasks(analysis, family, "end", "final"))
        tables.append(_by_place(analysis, family))
    return tables


def _means(analysis: Analysis, family: str, scores: pd.DataFrame) -> Table:
    """Return all metrics of each method, as means over all eight sequences."""
    members = list_of(scores, "sequence")
    return pivot_table(
        analysis,
        scores,
        label_keys(analysis, list_of(scores, "label"), with_paper=True),
        [key._replace(where={"sequence": members}) for key in metric_keys(scores)],
        published=lambda row, column: paper.over_family(family, column.value, row.method),
        name=family,
        title=f"{family_title(family)}: means over {len(members)} sequences",
        corner="method",
        group=family,
    )


def _metric(
    analysis: Analysis, family: str, scores: pd.DataFrame, metric: str, last: bool
) -> Table:
    """Return the paper's table of one metric: a row for each sequence and for their mean."""
    members = sorted(list_of(scores, "sequence"), key=list_of(analysis.scores, "sequence").index)
    tasks = {run.sequence: ", ".join(run.tasks) for run in list_of(scores, "run")}
    rows = [
        Key(number_in_family(name), {"sequence": name}, metric, detail=tasks[name])
        for name in members
    ]
    if len(members) == paper.FAMILY_SIZE:
        rows.append(Key("mean", {"sequence": members}, metric))

    def published(row: Key, column: Key) -> Estimate | None:
        if row.heading == "mean":
            return paper.over_family(family, metric, column.method)
        return paper.on_sequence(row.where["sequence"], metric, column.method)

    return pivot_table(
        analysis,
        scores,
        rows,
        label_keys(analysis, list_of(scores, "label"), with_paper=True),
        best="row",
        published=published,
        advise=last,
        name=f"{family}-{metric}",
        title=f"{family_title(family)}: {TITLES[metric]}",
        corner=family_title(family),
        group=family,
    )


def _families(analysis: Analysis) -> Iterator[Family]:
    """Yield each family of which labels share two sequences or more.

    As long as they do not, the label with the fewest sequences is left out.
    """
    for name in TRIPLETS:
        scores = select(analysis.scores, family=name)
        groups = groups_of(scores, main_labels_of(scores))
        left_out = []
        while groups and len(shared := shared_sequences(groups.values())) < 2:
            fewest = min(reversed(groups), key=lambda label: groups[label].sequence.nunique())
            left_out.append(fewest)
            del groups[fewest]
        if groups:
            notes = []
            if len(shared) < scores.sequence.nunique():
                notes.append(f"Over {', '.join(shared)}.")
            if left_out:
                notes.append(f"Left out: {', '.join(left_out)}, with too few of these.")
            kept = {label: select(rows, sequence=shared) for label, rows in groups.items()}
            yield Family(name, kept, tuple(notes))


def _differences(family: Family, metric: str) -> Table:
    """Return by how much a method is ahead of another."""
    count = next(iter(family.groups.values())).sequence.nunique()
    return Table(
        name=f"{family.name}-{metric}-differences",
        title=f"{family_title(family.name)}: {TITLES[metric]} of the row minus that of the column",
        corner="method",
        columns=tuple(family.groups),
        rows=square(family.groups, lambda mine, other: difference_cell(mine, other, metric)),
        notes=(
            f"Means over {count} sequences and the seeds that both have. {OF_INTERVALS}",
            *family.notes,
        ),
        group=family.name,
        detail=metric != PERFORMANCE,
    )


def _tasks(analysis: Analysis, family: Family, name: str, value: str) -> Table:
    """Return the success on each task when it was just learned, or at the end."""
    scores = family.scores[family.scores[value].notna()]
    places = scores.drop_duplicates(["sequence", "position"]).task.value_counts()
    rows = [Key(f"{task} ({places[task]})", {"task": task}, value) for task in sorted(places.index)]
    rows.append(Key(f"all ({places.sum()})", {}, value))
    return pivot_table(
        analysis,
        scores,
        rows,
        [Key(label, {"label": label}) for label in list_of(scores, "label")],
        best="row",
        places=True,
        notes=("Means over the places of a task in the sequences.", *family.notes),
        name=f"{family.name}-tasks-{name}",
        title=f"{family_title(family.name)}: success on each task "
        f"{'when just learned' if name == 'learned' else 'at the end'}",
        corner="task (places)",
        group=family.name,
        detail=True,
    )


def _by_place(analysis: Analysis, family: Family) -> Table:
    """Return forward transfer on first and on later tasks."""
    scores = family.scores
    return pivot_table(
        analysis,
        scores.assign(later=scores.position > 0),
        label_keys(analysis, family.groups),
        [
            Key("first tasks", {"later": False}, TRANSFER),
            Key("later tasks", {"later": True}, TRANSFER),
        ],
        places=True,
        notes=(
            "First tasks have nothing to profit from: their transfer is that of the learner.",
            *family.notes,
        ),
        name=f"{family.name}-transfer-by-place",
        title=f"{family_title(family.name)}: forward transfer on first and on later tasks",
        corner="method",
        group=family.name,
        detail=True,
    )
