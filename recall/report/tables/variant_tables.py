"""Build the tables of each method and its variants, over the sequences that they share."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

from recall.analysis.labels import label_of
from recall.analysis.measures import TITLES
from recall.analysis.over_sequences import metrics_of
from recall.analysis.scores import ScoreBoard
from recall.report.tables.appendix import ACTOR, CRITIC, MODE, WEIGHT, lower_of
from recall.report.tables.cells import budget_notes, mean_cell, with_best_of_columns
from recall.report.tables.table import Row, Table
from recall.report.tables.transfer_notes import transfer_facts, transfer_note
from recall.runs.wording import few

_MOST_NAMED = 8


def variant_tables(board: ScoreBoard) -> list[Table]:
    """Return tables of each method and its variants, as means over the sequences they share.

    Variants that a table of the paper shows (lambda, sharing, replay mode) are not repeated.
    """
    shown = ({WEIGHT}, {ACTOR, CRITIC}, {MODE})
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for label in board.labels:
        scores = board.among([label], board.sequences)
        changed = set(scores[0].runs[0].changes)
        if changed and not any(changed <= names for names in shown):
            where = tuple(each.sequence for each in scores)
            preset = scores[0].runs[0].preset
            groups.setdefault((scores[0].method, preset, where), []).append(label)
    tables = [
        _variants(board, method, preset, sequences, labels)
        for (method, preset, sequences), labels in groups.items()
        if len(sequences) > 1 or len(labels) > 1
    ]
    # Files are called after tables, and two may have as many sequences from the same one on.
    seen = Counter[str]()
    for place, table in enumerate(tables):
        seen[table.name] += 1
        if seen[table.name] > 1:
            tables[place] = dataclasses.replace(table, name=f"{table.name}-{seen[table.name]}")
    return tables


def _variants(
    board: ScoreBoard, method: str, preset: str, sequences: Sequence[str], labels: Sequence[str]
) -> Table:
    plain = [
        label
        for label in board.labels
        for found in [board.among([label], sequences)]
        if len(found) == len(sequences)
        and found[0].method == method
        and not found[0].variant
        and found[0].runs[0].preset == preset
    ]
    chosen = [*plain, *labels]
    scores = board.among(chosen, sequences)
    metrics = metrics_of(scores)
    rows = []
    for label in chosen:
        group = board.among([label], sequences)
        rows.append(
            Row(group[0].variant or label, tuple(mean_cell(group, metric) for metric in metrics))
        )
    where = few(sequences, _MOST_NAMED)
    if len(sequences) > 1 and _are_neighbours(board, sequences):
        where = f"{sequences[0]} to {sequences[-1]}"
    return Table(
        name=f"variants-{label_of(method, preset=preset)}-{sequences[0]}-{len(sequences)}",
        title=f"Variants of {label_of(method, preset=preset)} on {where}",
        corner="variant",
        columns=tuple(TITLES[metric] for metric in metrics),
        rows=with_best_of_columns(rows, lower_of(metrics)),
        notes=budget_notes(scores) + transfer_facts(scores),
        advice=transfer_note(scores),
        lower=tuple(lower_of(metrics)),
        group="variants",
    )


def _are_neighbours(board: ScoreBoard, sequences: Sequence[str]) -> bool:
    """Return True if no other sequence lies between these."""
    first, last = (board.sequences.index(sequences[place]) for place in (0, -1))
    return last - first + 1 == len(sequences)
