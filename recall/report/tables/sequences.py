"""Tables of sequences and of the families CW3 and CW6, with differences, tasks and returns."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from recall.analysis.estimates import Estimate, difference, shared_seeds, shared_sequences
from recall.analysis.frames import Analysis, analyse, list_of, select
from recall.analysis.labels import (
    PAIRS,
    TRIPLETS,
    display_name,
    family_title,
    main_labels,
)
from recall.analysis.metrics import METRICS, PERFORMANCE, RETURN, TITLES
from recall.report import paper
from recall.report.tables.pivot import (
    INTERQUARTILE,
    Cell,
    Key,
    Row,
    Table,
    by_label,
    label_keys,
    metric_keys,
    pivot_table,
)

FEW_PAIRS = 4
"""Up to this many pairs are shown one by one; more are shown as means."""
_FEW_TASKS = 3  # of a table of returns on the terminal


def family_tables(analysis: Analysis) -> Iterator[Table]:
    """Yield all tables of CW3 and of CW6."""
    for family in TRIPLETS:
        scores = select(analysis.scores, family=family)
        scores = select(scores, label=main_labels(list_of(scores, "run")))
        if len(scores):
            yield from _metrics_of_family(analysis, family, scores)
            yield from _shared(analysis, scores)


def _metrics_of_family(analysis: Analysis, family: str, scores: pd.DataFrame) -> Iterator[Table]:
    """Yield the means over all eight sequences, and the paper's table of each metric."""
    sequences = list_of(scores, "sequence")
    members = sorted(sequences, key=list_of(analysis.scores, "sequence").index)
    tasks = {run.sequence: ", ".join(run.tasks) for run in list_of(scores, "run")}
    methods = label_keys(analysis, list_of(scores, "label"), with_paper=True)
    metrics = metric_keys(scores)
    rows = [
        Key(name.rpartition("-")[2], {"sequence": name}, detail=tasks[name]) for name in members
    ]
    if len(members) == paper.FAMILY_SIZE:
        yield pivot_table(
            analysis,
            scores,
            methods,
            [key._replace(where={"sequence": sequences}) for key in metrics],
            published=lambda row, column: paper.over_family(family, column.value, row.method),
            name=family,
            title=f"{family_title(family)}: means over {len(members)} sequences",
        )
        rows.append(Key("mean", {"sequence": members}))

    def published(row: Key, column: Key) -> Estimate | None:
        if row.heading == "mean":
            return paper.over_family(family, row.value, column.method)
        return paper.on_sequence(row.where["sequence"], row.value, column.method)

    for metric in metrics:
        yield pivot_table(
            analysis,
            scores,
            [row._replace(value=metric.value) for row in rows],
            methods,
            best="row",
            published=published,
            advise=metric == metrics[-1],
            name=f"{family}-{metric.value}",
            title=f"{family_title(family)}: {metric.heading}",
            corner=family_title(family),
        )


def _shared(analysis: Analysis, scores: pd.DataFrame) -> Iterator[Table]:
    """Yield the tables of the sequences that all labels have, if there are two or more.

    As long as there are fewer, the label with the fewest sequences is left out.
    """
    family, groups = scores.family.iloc[0], by_label(scores)
    left_out = []
    while groups and len(shared := shared_sequences(groups.values())) < 2:
        fewest = min(reversed(groups), key=lambda label: groups[label].sequence.nunique())
        left_out.append(fewest)
        del groups[fewest]
    if not groups:
        return
    notes = [f"Over {', '.join(shared)}."] if len(shared) < scores.sequence.nunique() else []
    if left_out:
        notes.append(f"Left out: {', '.join(left_out)}, with too few of these.")
    groups = {label: select(rows, sequence=shared) for label, rows in groups.items()}
    scores, title = pd.concat(groups.values()), family_title(family)
    for metric in METRICS:
        yield _differences(
            groups,
            metric,
            notes,
            name=f"{family}-{metric}-differences",
            title=f"{title}: {TITLES[metric]} of the row minus that of the column",
            detail=metric != PERFORMANCE,
        )
    places = scores.drop_duplicates(["sequence", "position"]).task.value_counts()
    tasks = [Key(f"{task} ({places[task]})", {"task": task}) for task in sorted(places.index)]
    yield pivot_table(
        analysis,
        scores,
        [*tasks, Key(f"all ({places.sum()})")],
        [Key(label, {"label": label}, "final") for label in list_of(scores, "label")],
        best="row",
        places=True,
        notes=("Means over the places of a task in the sequences.", *notes),
        name=f"{family}-tasks-end",
        title=f"{title}: success on each task at the end",
        corner="task (places)",
        detail=True,
    )


def sequence_tables(analysis: Analysis) -> Iterator[Table]:
    """Yield the tables of each sequence; metrics only if no table of a family has them."""
    pairs = select(analysis.scores, family=PAIRS).sequence.nunique()
    for sequence, scores in analysis.scores.groupby("sequence", sort=False):
        if pairs <= FEW_PAIRS or scores.family.iloc[0] != PAIRS:
            yield from _of_sequence(analysis, str(sequence), scores)


def _of_sequence(analysis: Analysis, sequence: str, scores: pd.DataFrame) -> Iterator[Table]:
    """Yield the metrics, the success on each task, the transfer to it, and differences."""
    labels = list_of(scores, "label")
    where = display_name(sequence, scores["run"].iloc[0].tasks)
    if scores.family.iloc[0] not in TRIPLETS:
        known = paper.on_sequence(sequence, PERFORMANCE, "recall") is not None
        yield pivot_table(
            analysis,
            scores,
            label_keys(analysis, labels, with_paper=known),
            [*metric_keys(scores), Key(INTERQUARTILE, value=INTERQUARTILE)],
            published=lambda row, column: paper.on_sequence(sequence, column.value, row.method),
            advise=True,
            name=sequence,
            title=f"Results on {where}",
        )
    if len(labels) > 1:
        yield _differences(
            by_label(scores),
            PERFORMANCE,
            (),
            name=f"{sequence}-differences",
            title=f"Average performance of the row minus that of the column on {sequence}",
            detail=True,
        )
    for name, title, value in (
        ("tasks", "Success on each task at the end of", "final"),
        ("transfer", "Forward transfer of each task of", "transfer"),
    ):
        yield pivot_table(
            analysis,
            scores,
            label_keys(analysis, labels),
            _by_position(scores, value),
            name=f"{sequence}-{name}",
            title=f"{title} {where}",
            detail=True,
        )


def _differences(
    groups: Mapping[str, pd.DataFrame], metric: str, notes: Sequence[str], **others: Any
) -> Table:
    """Return by how much each label is ahead of each other one, seed by seed."""
    count = next(iter(groups.values())).sequence.nunique()
    over = f"{count} sequences and " if count > 1 else ""
    told = f"Means over {over}the seeds that both have, with Student's t intervals over seeds."

    def cell(mine: str, other: str) -> Cell:
        if mine == other:
            return Cell(text="")
        both = groups[mine], groups[other]
        return Cell(difference(*both, metric), runs=shared_seeds(*both))

    rows = tuple(Row(mine, tuple(cell(mine, other) for other in groups)) for mine in groups)
    return Table(corner="method", columns=(*groups,), rows=rows, notes=(told, *notes), **others)


def _by_position(scores: pd.DataFrame, *values: str, words: Sequence[str] = ("",)) -> list[Key]:
    """Return a key for each task of a sequence and each value."""
    tasks = dict(sorted(zip(scores.position, scores.task, strict=True)))
    return [
        Key(f"{position + 1} {task}{word}", {"position": position}, value)
        for position, task in tasks.items()
        for value, word in zip(values, words, strict=True)
    ]


def return_tables(analysis: Analysis) -> Iterator[Table]:
    """Yield a table for each sequence with a task that reports no success, or never succeeds."""
    succeeded = analysis.scores.groupby("sequence")[["trained", "final"]].max().max(axis=1)
    silent = {
        name: list(dict.fromkeys(task for run in part.runs for task in run.without_success))
        for name, part in analysis.collection.sequential.by_sequence().items()
    }
    shown = [name for name in silent if silent[name] or succeeded.get(name, 1.0) == 0.0]
    chosen = analysis.collection.where(lambda run: run.sequence in shown)
    returns = analyse(chosen, dataclasses.replace(analysis.measure, field=RETURN))
    for name in list_of(returns.scores, "sequence"):
        scores, notes = select(returns.scores, sequence=name), []
        if set(silent[name]) >= set(scores.task):
            notes = ["The tasks do not report success, so returns stand instead."]
        elif told := ", ".join(silent[name]):
            notes = [f"{told}: success is not reported; other tables leave them out."]
        yield pivot_table(
            returns,
            scores,
            label_keys(returns, list_of(scores, "label")),
            _by_position(scores, "trained", "final", words=(", just learned", ", at the end")),
            notes=notes,
            name=f"{name}-returns",
            title=f"Returns on {display_name(name, scores['run'].iloc[0].tasks)}",
            decimals=1,
            detail=scores.task.nunique() > _FEW_TASKS,
        )
