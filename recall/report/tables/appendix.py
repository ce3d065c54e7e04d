"""Build the tables of the paper's appendix (lambda, sharing, replay mode), pairs and variants."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recall.report import paper
from recall.report.tables.cells import (
    budget_notes,
    cell,
    metric_cell,
    transfer_note,
    with_best_bold,
    with_best_of_columns,
)
from recall.report.tables.per_sequence import display_name
from recall.report.tables.table import Cell, Row, Table
from recall.results.bootstrap import Estimate, Sampled, mean_of
from recall.results.families import is_pair, numbers_of_pair
from recall.results.labels import in_words, method_label
from recall.results.measures import LOWER_IS_BETTER, METRICS, TITLES, TRANSFER
from recall.results.scores import ScoreBoard, Scores

WEIGHT = "method.distillation_weight"
ACTOR, CRITIC = "method.actor_heads", "method.critic_heads"
MODE = "method.replay_mode"
_SEPARATE = "separate"
_MODES = ("offline", "online")


def _varied(board: ScoreBoard, method: str, names: set[str]) -> dict[str, list[Scores]]:
    """Return, by sequence, a method's scores that differ only in `names`, if there are several."""
    found: dict[str, list[Scores]] = {}
    for (_, sequence), scores in board.scores.items():
        if scores.method == method and set(scores.runs[0].changes) <= names:
            found.setdefault(sequence, []).append(scores)
    return {name: group for name, group in found.items() if len(group) > 1}


def _setting(scores: Scores, name: str) -> Any:
    return scores.runs[0].settings.get(name)


def _metrics_of(scores: Sequence[Scores]) -> list[str]:
    """Return the metrics to show; forward transfer only if a score has it."""
    return [
        metric
        for metric in METRICS
        if metric != TRANSFER or any(each.forward_transfer for each in scores)
    ]


def _lower(metrics: Sequence[str]) -> list[bool]:
    return [metric in LOWER_IS_BETTER for metric in metrics]


def lambda_tables(board: ScoreBoard) -> list[Table]:
    """Return tables of RECALL with several distillation weights, one per sequence that has them."""
    tables = []
    for sequence, group in _varied(board, "recall", {WEIGHT}).items():
        scores = sorted(group, key=lambda each: float(_setting(each, WEIGHT)))
        metrics = _metrics_of(scores)
        rows = []
        for each in scores:
            weight = float(_setting(each, WEIGHT))
            cells = [
                metric_cell(each, metric, paper.with_weight(sequence, weight, metric))
                for metric in metrics
            ]
            rows.append(Row(f"{weight:g}", tuple(cells)))
        tables.append(
            Table(
                name=f"lambda-{sequence}",
                title=f"RECALL by the weight λ of its distillation, on {sequence}",
                corner="λ",
                columns=tuple(TITLES[metric] for metric in metrics),
                rows=with_best_of_columns(rows, _lower(metrics)),
                notes=budget_notes(scores, sequence == "cw6-1") + transfer_note(scores),
                group="lambda",
            )
        )
    return tables


def sharing_tables(board: ScoreBoard) -> list[Table]:
    """Return tables of perfect memory on a pair of tasks, with shared and separate networks."""
    tables = []
    for sequence, group in _varied(board, "perfect_memory", {ACTOR, CRITIC}).items():
        if len(group[0].tasks) != 2:
            continue
        rows = [
            Row(_sharing(each), tuple(_shared_cell(each, task) for task in (0, 1)))
            for each in sorted(group, key=_separate)
        ]
        tables.append(
            Table(
                name=f"sharing-{sequence}",
                title="PM with shared and separate networks, on "
                f"{display_name(sequence, group[0].tasks)}",
                corner="networks",
                columns=("first task", "second task"),
                rows=with_best_of_columns(rows, [False, False]),
                notes=(
                    *budget_notes(group),
                    "The paper does not say which pair its numbers are of.",
                ),
                group="sharing",
            )
        )
    return tables


def _separate(scores: Scores) -> tuple[bool, bool]:
    """Return whether critics and actors are separate, in the order of the paper's rows."""
    return _setting(scores, CRITIC) == _SEPARATE, _setting(scores, ACTOR) == _SEPARATE


def _sharing(scores: Scores) -> str:
    critic, actor = _separate(scores)
    return f"{'unshared' if actor else 'shared'} actor, {'unshared' if critic else 'shared'} critic"


def _shared_cell(scores: Scores, task: int) -> Cell:
    critic, actor = _separate(scores)
    return cell(
        scores.at_end(task), paper.with_sharing(not actor, not critic, task), len(scores.runs)
    )


def replay_mode_table(board: ScoreBoard) -> list[Table]:
    """Return the table of perfect memory on the first task of pairs, offline and online."""
    groups = {
        sequence: {str(_setting(each, MODE)): each for each in group}
        for sequence, group in _varied(board, "perfect_memory", {MODE}).items()
        if is_pair(sequence)
    }
    if not groups:
        return []
    rows = []
    for sequence, modes in groups.items():
        cells: list[Cell] = []
        for place, lower in ((0, False), (1, True)):
            both = [_first_task(sequence, mode, modes.get(mode))[place] for mode in _MODES]
            cells += with_best_bold(both, lower)
        rows.append(Row(numbers_of_pair(sequence), tuple(cells)))
    return [
        Table(
            name="replay-mode",
            title="PM on the first task of pairs, by how old tasks are learnt",
            corner="pair",
            columns=tuple(
                f"{mode} {what}" for what in ("performance", "forgetting") for mode in _MODES
            ),
            rows=tuple(rows),
            notes=budget_notes([each for modes in groups.values() for each in modes.values()]),
            group="replay_mode",
        )
    ]


def _first_task(sequence: str, mode: str, scores: Scores | None) -> tuple[Cell, Cell]:
    """Return performance and forgetting on the first task."""
    theirs = [
        paper.with_replay_mode(sequence, mode, what) for what in ("performance", "forgetting")
    ]
    if scores is None:
        return Cell(paper=theirs[0]), Cell(paper=theirs[1])
    runs = len(scores.runs)
    return cell(scores.at_end(0), theirs[0], runs), cell(scores.forgotten(0), theirs[1], runs)


def pair_tables(board: ScoreBoard) -> list[Table]:
    """Return means and counts over the pairs of tasks that every label has."""
    names = [name for name in board.sequences if is_pair(name)]
    groups: dict[str, list[Scores]] = {}
    for scores in board.among(board.labels, names):
        groups.setdefault(scores.label, []).append(scores)
    groups = {label: group for label, group in groups.items() if len(group) > 1}
    if not groups:
        return []
    note = ", ".join(f"{label} {len(group)}" for label, group in groups.items())
    notes = (
        *budget_notes([each for group in groups.values() for each in group]),
        f"Pairs: {note}; the paper: 100.",
    )
    means = [Row(label, _pair_means(group)) for label, group in groups.items()]
    counts = [Row(label, _pair_counts(group)) for label, group in groups.items()]
    return [
        Table(
            name="pairs",
            title="Pairs of tasks: means over pairs",
            corner="method",
            columns=("first task", "second task", "first task's forgetting"),
            rows=with_best_of_columns(means, [False, False, True]),
            notes=notes,
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
            rows=tuple(counts),
            notes=notes,
            decimals=0,
            group="pairs",
        ),
    ]


def _plain_method(group: Sequence[Scores]) -> str:
    """Return the method to compare with in the paper, or an empty string for a variant."""
    return "" if group[0].variant else group[0].method


def _pair_means(group: Sequence[Scores]) -> tuple[Cell, ...]:
    method = _plain_method(group)
    means: Mapping[str, list[Sampled]] = {
        "first_task": [each.at_end(0) for each in group],
        "second_task": [each.at_end(1) for each in group],
        "first_task_forgetting": [each.forgotten(0) for each in group],
    }
    runs = sum(len(each.runs) for each in group)
    return tuple(
        cell(mean_of(parts), paper.over_pairs(method, what), runs) for what, parts in means.items()
    )


def _pair_counts(group: Sequence[Scores]) -> tuple[Cell, ...]:
    method = _plain_method(group)
    seconds = np.array([each.final[:, 1].mean() for each in group])
    lost = np.array([(each.trained - each.final)[:, 0].mean() for each in group])
    never = paper.over_pairs(method, "second_tasks_with_zero_success")
    little = paper.over_pairs(method, "second_tasks_above_zero_below_half")
    below = paper.over_pairs(method, "second_tasks_below_half")
    if never and little:
        below = Estimate(never.value + little.value)
    dropping = paper.over_pairs(method, "first_tasks_dropping_over_0.1")
    return (
        Cell(Estimate(float(np.sum(seconds == 0.0))), never),
        Cell(Estimate(float(np.sum(seconds < 0.5))), below),
        Cell(Estimate(float(np.sum(lost > 0.1))), dropping),
    )


def variant_tables(board: ScoreBoard) -> list[Table]:
    """Return tables of each method and its variants, as means over the sequences they share.

    Variants that a table of the paper shows (lambda, sharing, replay mode) are not repeated.
    """
    shown = ({WEIGHT}, {ACTOR, CRITIC}, {MODE})
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for label in board.labels:
        scores = board.among([label], board.sequences)
        changed = set(scores[0].runs[0].changes)
        if changed and not any(changed <= names for names in shown):
            where = tuple(each.sequence for each in scores)
            groups.setdefault((scores[0].method, where), []).append(label)
    return [
        _variants(board, method, sequences, labels)
        for (method, sequences), labels in groups.items()
        if len(sequences) > 1 or len(labels) > 1
    ]


def _variants(
    board: ScoreBoard, method: str, sequences: Sequence[str], labels: Sequence[str]
) -> Table:
    plain = [
        label
        for label in board.labels
        for found in [board.among([label], sequences)]
        if len(found) == len(sequences) and found[0].method == method and not found[0].variant
    ]
    chosen = [*plain, *labels]
    scores = board.among(chosen, sequences)
    metrics = _metrics_of(scores)
    rows = []
    for label in chosen:
        group = board.among([label], sequences)
        heading = in_words(group[0].runs[0].changes) or label
        rows.append(Row(heading, tuple(_over(group, metric) for metric in metrics)))
    where = sequences[0] if len(sequences) == 1 else f"{sequences[0]} to {sequences[-1]}"
    return Table(
        name=f"variants-{method}-{sequences[0]}-{len(sequences)}",
        title=f"Variants of {method_label(method)} on {where}",
        corner="variant",
        columns=tuple(TITLES[metric] for metric in metrics),
        rows=with_best_of_columns(rows, _lower(metrics)),
        notes=budget_notes(scores, paper=False) + transfer_note(scores),
        group="variants",
    )


def _over(group: Sequence[Scores], metric: str) -> Cell:
    parts = [part for each in group if (part := each.metric(metric)) is not None]
    if len(parts) < len(group):
        return Cell()
    return cell(mean_of(parts), runs=sum(len(each.runs) for each in group))
