"""Build the tables of the paper's appendix: lambda, shared networks and replay mode."""

from collections.abc import Sequence
from typing import Any

from recall.analysis.departures import DEFAULT
from recall.analysis.families import is_pair, numbers_of_pair
from recall.analysis.measures import LOWER_IS_BETTER, TITLES
from recall.analysis.over_sequences import metrics_of
from recall.analysis.scores import ScoreBoard, Scores
from recall.report import paper
from recall.report.tables.cells import (
    budget_notes,
    cell,
    metric_cell,
    with_best_bold,
    with_best_of_columns,
)
from recall.report.tables.paper_rows import has_papers_settings, paper_notes, with_paper_rows
from recall.report.tables.per_sequence import display_name
from recall.report.tables.table import Cell, Row, Table
from recall.report.tables.transfer_notes import transfer_facts, transfer_note

WEIGHT = "method.distillation_weight"
ACTOR, CRITIC = "method.actor_heads", "method.critic_heads"
MODE = "method.replay_mode"
# What the paper calls networks with these heads. It has none with deep heads, which share less.
_SHARING = {"shallow": "shared", "separate": "unshared"}
_MODES = ("offline", "online")


def _varied(board: ScoreBoard, method: str, names: set[str]) -> dict[str, list[Scores]]:
    """Return a method's scores that differ only in `names`, if there are several.

    The key is the sequence, followed by the preset if it is not the default.
    """
    found: dict[str, list[Scores]] = {}
    for (_, sequence), scores in board.scores.items():
        run = scores.runs[0]
        if scores.method == method and set(run.changes) <= names and run.source == "recall":
            preset = "" if run.preset == DEFAULT else f", preset {run.preset}"
            found.setdefault(f"{sequence}{preset}", []).append(scores)
    return {name: group for name, group in found.items() if len(group) > 1}


def _setting(scores: Scores, name: str) -> Any:
    return scores.runs[0].settings.get(name)


def lower_of(metrics: Sequence[str]) -> list[bool]:
    """Return for each metric whether less is better."""
    return [metric in LOWER_IS_BETTER for metric in metrics]


def lambda_tables(board: ScoreBoard) -> list[Table]:
    """Return tables of RECALL with several distillation weights, one per sequence that has them."""
    tables = []
    for where, group in _varied(board, "recall", {WEIGHT}).items():
        sequence = group[0].sequence
        scores = sorted(group, key=lambda each: float(_setting(each, WEIGHT)))
        metrics = metrics_of(scores)
        rows = []
        for each in scores:
            weight = float(_setting(each, WEIGHT))
            cells = [
                metric_cell(
                    each,
                    metric,
                    paper.with_weight(sequence, weight, metric),
                    frozenset({WEIGHT}),
                )
                for metric in metrics
            ]
            rows.append(Row(f"{weight:g}", tuple(cells)))
        shown = with_paper_rows(with_best_of_columns(rows, lower_of(metrics)))
        tables.append(
            Table(
                name=f"lambda-{where}",
                title=f"RECALL by the weight λ of its distillation, on {where}",
                corner="λ",
                columns=tuple(TITLES[metric] for metric in metrics),
                rows=shown,
                notes=budget_notes(scores) + paper_notes(shown, scores) + transfer_facts(scores),
                advice=transfer_note(scores),
                lower=tuple(lower_of(metrics)),
                group="lambda",
            )
        )
    return tables


def sharing_tables(board: ScoreBoard) -> list[Table]:
    """Return tables of perfect memory on a pair of tasks, with shared and separate networks."""
    tables = []
    for where, group in _varied(board, "perfect_memory", {ACTOR, CRITIC}).items():
        if len(group[0].tasks) != 2:
            continue
        rows = [
            Row(_sharing(each), tuple(_shared_cell(each, task) for task in (0, 1)))
            for each in sorted(group, key=_order)
        ]
        shown = with_paper_rows(with_best_of_columns(rows, [False, False]))
        tables.append(
            Table(
                name=f"sharing-{where}",
                title="PM with shared and separate networks, on "
                f"{display_name(where, group[0].tasks)}",
                corner="networks",
                columns=("first task", "second task"),
                rows=shown,
                notes=(
                    *budget_notes(group),
                    *paper_notes(shown, group),
                    "The paper does not say which pair its numbers are of; the authors' code draws "
                    "the figure that they belong to from handle-press-side, hammer.",
                ),
                group="sharing",
            )
        )
    return tables


def _order(scores: Scores) -> tuple[int, int]:
    """Return a sort key with the critic before the actor, as in the paper; other heads last."""
    order = list(_SHARING)
    heads = (_setting(scores, CRITIC), _setting(scores, ACTOR))
    critic, actor = (order.index(each) if each in order else len(order) for each in heads)
    return critic, actor


def _sharing(scores: Scores) -> str:
    return ", ".join(
        f"{_SHARING[heads]} {network}" if heads in _SHARING else f"{network} with {heads} heads"
        for network, name in (("actor", ACTOR), ("critic", CRITIC))
        for heads in [_setting(scores, name)]
    )


def _shared_cell(scores: Scores, task: int) -> Cell:
    words = [_SHARING.get(_setting(scores, name)) for name in (ACTOR, CRITIC)]
    actor, critic = (word == "shared" for word in words)
    theirs = None if None in words else paper.with_sharing(actor, critic, task)
    return cell(scores.at_end(task), theirs, len(scores.runs))


def replay_mode_table(board: ScoreBoard) -> list[Table]:
    """Return the table of perfect memory on the first task of pairs, offline and online."""
    groups = {
        where: {str(_setting(each, MODE)): each for each in group}
        for where, group in _varied(board, "perfect_memory", {MODE}).items()
        if is_pair(group[0].sequence)
    }
    if not groups:
        return []
    rows = []
    for where, modes in groups.items():
        sequence = next(iter(modes.values())).sequence
        cells: list[Cell] = []
        for place, lower in ((0, False), (1, True)):
            both = [_first_task(sequence, mode, modes.get(mode))[place] for mode in _MODES]
            cells += with_best_bold(both, lower)
        rows.append(Row(numbers_of_pair(where), tuple(cells)))
    scores = [each for modes in groups.values() for each in modes.values()]
    shown = with_paper_rows(rows)
    return [
        Table(
            name="replay-mode",
            title="PM on the first task of pairs, by how old tasks are learnt",
            corner="pair",
            columns=tuple(
                f"{mode} {what}" for what in ("performance", "forgetting") for mode in _MODES
            ),
            rows=shown,
            notes=budget_notes(scores) + paper_notes(shown, scores),
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
    runs, same = len(scores.runs), has_papers_settings(scores, frozenset({MODE}))
    return (
        cell(scores.at_end(0), theirs[0], runs, same),
        cell(scores.forgotten(0), theirs[1], runs, same),
    )
