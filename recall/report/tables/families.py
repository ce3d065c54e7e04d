"""Tables of the sequences of CW3 or CW6 together: metrics, differences, tasks and transfer."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from recall.analysis.bootstrap import Estimate
from recall.analysis.estimates import shared_sequences
from recall.analysis.families import TRIPLETS, family_title, number_in_family
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.measures import LOWER_IS_BETTER, METRICS, PERFORMANCE, TITLES, TRANSFER
from recall.report import paper
from recall.report.tables.notes import budget_notes, paper_notes, transfer_facts, transfer_note
from recall.report.tables.pivot import (
    Key,
    difference_cell,
    groups_of,
    label_keys,
    lower_of,
    main_labels_of,
    metric_keys,
    pivot,
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
        if len(scores):
            tables.append(_means(analysis, name, scores))
            tables += [_metric(analysis, name, scores, metric) for metric in METRICS]
    families = list(_families(analysis))
    for family in families:
        tables += [_differences(family, metric) for metric in METRICS]
    for family in families:
        tables += [_tasks(family, "learnt", "trained"), _tasks(family, "end", "final")]
        tables.append(_by_place(analysis, family))
    return [table for table in tables if table.rows]


def _means(analysis: Analysis, family: str, scores: pd.DataFrame) -> Table:
    """Return all metrics of each method, as means over all eight sequences."""
    members = list_of(scores, "sequence")
    columns = [key._replace(where={"sequence": members}) for key in metric_keys(scores)]
    shown = pivot(
        scores,
        label_keys(analysis, list_of(scores, "label"), with_paper=True),
        columns,
        published=lambda row, column: paper.over_family(family, column.value, row.method),
    )
    return Table(
        name=family,
        title=f"{family_title(family)}: means over {len(members)} sequences",
        corner="method",
        columns=tuple(key.heading for key in columns),
        rows=shown if len(members) == paper.FAMILY_SIZE else (),
        notes=budget_notes(scores) + paper_notes(shown) + transfer_facts(analysis, scores),
        lower=lower_of(columns),
        group=family,
    )


def _metric(analysis: Analysis, family: str, scores: pd.DataFrame, metric: str) -> Table:
    """Return the paper's table of one metric: a row for each sequence and for their mean."""
    members = sorted(list_of(scores, "sequence"), key=list_of(analysis.scores, "sequence").index)
    columns = label_keys(analysis, list_of(scores, "label"), with_paper=True)
    rows = [Key(number_in_family(name), {"sequence": name}, metric) for name in members]
    if len(members) == paper.FAMILY_SIZE:
        rows.append(Key("mean", {"sequence": members}, metric))

    def published(row: Key, column: Key) -> Estimate | None:
        if row.heading == "mean":
            return paper.over_family(family, metric, column.method)
        return paper.on_sequence(row.where["sequence"], metric, column.method)

    transfers = scores.transfer.notna().any()
    shown = pivot(scores, rows, columns, "row", published)
    is_transfer = metric == TRANSFER
    return Table(
        name=f"{family}-{metric}",
        title=f"{family_title(family)}: {TITLES[metric]}",
        corner=family_title(family),
        columns=tuple(key.heading for key in columns),
        # The paper's transfer alone is no result of these runs.
        rows=() if is_transfer and not transfers else shown,
        notes=(
            *budget_notes(scores),
            *paper_notes(shown),
            *(transfer_facts(analysis, scores) if is_transfer else ()),
        ),
        advice=transfer_note(analysis, scores) if metric == METRICS[1 + transfers] else (),
        lower=(metric in LOWER_IS_BETTER,) * len(columns),
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
    rows = square(family.groups, lambda mine, other: difference_cell(mine, other, metric))
    known = [row for row in rows if any(cell.ours for cell in row.cells)]
    headings = [row.heading for row in known]
    places = [place for place, row in enumerate(rows) if row.heading in headings]
    count = next(iter(family.groups.values())).sequence.nunique()
    return Table(
        name=f"{family.name}-{metric}-differences",
        title=f"{family_title(family.name)}: {TITLES[metric]} of the row minus that of the column",
        corner="method",
        columns=tuple(headings),
        rows=tuple(
            row._replace(cells=tuple(row.cells[place] for place in places)) for row in known
        ),
        notes=(
            f"Means over {count} sequences and the seeds that both have. {OF_INTERVALS}",
            *family.notes,
        ),
        group=family.name,
        detail=metric != PERFORMANCE,
    )


def _tasks(family: Family, name: str, value: str) -> Table:
    """Return the success on each task when it was just learnt, or at the end."""
    scores = family.scores[family.scores[value].notna()]
    places = scores.drop_duplicates(["sequence", "position"]).task.value_counts()
    rows = [Key(f"{task} ({places[task]})", {"task": task}, value) for task in sorted(places.index)]
    rows.append(Key(f"all ({places.sum()})", {}, value))
    columns = [Key(label, {"label": label}) for label in list_of(scores, "label")]
    return Table(
        name=f"{family.name}-tasks-{name}",
        title=f"{family_title(family.name)}: success on each task "
        f"{'when just learnt' if name == 'learnt' else 'at the end'}",
        corner="task (places)",
        columns=tuple(key.heading for key in columns),
        rows=pivot(scores, rows, columns, "row", places=True),
        notes=("Means over the places of a task in the sequences.", *family.notes),
        group=family.name,
        detail=True,
    )


def _by_place(analysis: Analysis, family: Family) -> Table:
    """Return forward transfer on first and on later tasks."""
    scores = family.scores
    scores = scores.assign(later=scores.position > 0)
    columns = [
        Key("first tasks", {"later": False}, TRANSFER),
        Key("later tasks", {"later": True}, TRANSFER),
    ]
    return Table(
        name=f"{family.name}-transfer-by-place",
        title=f"{family_title(family.name)}: forward transfer on first and on later tasks",
        corner="method",
        columns=tuple(key.heading for key in columns),
        rows=pivot(scores, label_keys(analysis, family.groups), columns, places=True),
        notes=(
            "First tasks have nothing to profit from: their transfer is that of the learner.",
            *family.notes,
            *transfer_facts(analysis, scores),
        ),
        group=family.name,
        detail=True,
    )
