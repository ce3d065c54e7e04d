"""Build the paper's tables 1, 2 and 3: CW3 and CW6 by sequence; CW10 and CW20."""

from collections.abc import Sequence

from recall.analysis.bootstrap import Estimate
from recall.analysis.families import LONG, TRIPLETS, family_of, family_title, number_in_family
from recall.analysis.measures import FORGETTING, LOWER_IS_BETTER, METRICS, TITLES, TRANSFER
from recall.analysis.over_sequences import mean_over, metrics_of
from recall.analysis.scores import ScoreBoard
from recall.methods import METHODS
from recall.report import paper
from recall.report.tables.beginning_notes import beginning_notes
from recall.report.tables.cells import (
    budget_notes,
    cell,
    main_labels_of,
    method_of,
    metric_cell,
    with_best_bold,
    with_best_of_columns,
)
from recall.report.tables.paper_rows import (
    has_papers_settings,
    label_for_paper,
    paper_notes,
    with_paper_rows,
)
from recall.report.tables.table import Cell, Row, Table
from recall.report.tables.transfer_notes import transfer_facts, transfer_note


def family_tables(board: ScoreBoard) -> list[Table]:
    """Return the tables of CW3 and CW6, one per metric; forward transfer only if there is any."""
    tables = []
    for family in TRIPLETS:
        members = [name for name in board.sequences if family_of(name) == family]
        if members:
            tables += [
                table for metric in METRICS if (table := _family(board, family, members, metric))
            ]
    return tables


def _family(board: ScoreBoard, family: str, members: Sequence[str], metric: str) -> Table | None:
    headings = _headings(board, members)
    scores = board.among([label for label, _ in headings], members)
    has_transfer = any(each.forward_transfer for each in scores)
    if metric == TRANSFER and not has_transfer:
        return None
    # Without forward transfer, the table before its place says why.
    advises = metric == (TRANSFER if has_transfer else FORGETTING)
    lower = metric in LOWER_IS_BETTER
    rows = []
    for name in members:
        cells = [_member(board, name, metric, *heading) for heading in headings]
        rows.append(Row(number_in_family(name), with_best_bold(cells, lower)))
    if len(members) == paper.FAMILY_SIZE:
        cells = [_mean(board, family, members, metric, *heading) for heading in headings]
        rows.append(Row("mean", with_best_bold(cells, lower)))
    shown = with_paper_rows(rows)
    notes = budget_notes(scores) + beginning_notes(scores) + paper_notes(shown, scores)
    return Table(
        name=f"{family}-{metric}",
        title=f"{family_title(family)}: {TITLES[metric]}",
        corner=family_title(family),
        columns=tuple(label for label, _ in headings),
        rows=shown,
        notes=notes + (transfer_facts(scores) if metric == TRANSFER else ()),
        advice=transfer_note(scores) if advises else (),
        lower=(lower,) * len(headings),
        group=family,
    )


def _headings(board: ScoreBoard, sequences: Sequence[str]) -> list[tuple[str, str]]:
    """Return the labels and their methods: ours on any of the sequences, and all of the paper's."""
    there = dict.fromkeys(scores.label for scores in board.among(board.labels, sequences))
    ours = {label: method_of(board, label) for label in main_labels_of(board, there)}
    missing = {
        label: method
        for method in paper.METHODS
        if (label := label_for_paper(ours, method)) not in ours
    }
    if chosen := board.collection.chosen:
        theirs = {label: method for label, method in missing.items() if method in chosen}
        return list((ours | theirs).items())
    order = list(METHODS)
    return sorted(
        (ours | missing).items(),
        key=lambda item: order.index(item[1]) if item[1] in order else len(order),
    )


def _member(board: ScoreBoard, name: str, metric: str, label: str, method: str) -> Cell:
    theirs = paper.on_sequence(name, metric, method)
    return metric_cell(board.get(label, name), metric, _if_plain(board, label, method, theirs))


def _if_plain(
    board: ScoreBoard, label: str, method: str, theirs: Estimate | None
) -> Estimate | None:
    """Return the paper's numbers for a plain method, and None for a variant of it."""
    return theirs if label == label_for_paper(board.labels, method) else None


def _mean(
    board: ScoreBoard, family: str, members: Sequence[str], metric: str, label: str, method: str
) -> Cell:
    theirs = _if_plain(board, label, method, paper.over_family(family, metric, method))
    scores = board.among([label], members)
    mean = mean_over(scores, metric)
    if mean is None or len(scores) < len(members):
        return Cell(paper=theirs)
    same = all(has_papers_settings(each) for each in scores)
    runs = sum(len(each.runs) for each in scores)
    return cell(mean, theirs, runs, same)


def long_table(board: ScoreBoard) -> list[Table]:
    """Return CW10 and CW20 side by side, one row per method."""
    there = [name for name in LONG if name in board.sequences]
    if not there:
        return []
    headings = _headings(board, there)
    scores = board.among([label for label, _ in headings], there)
    places = [(name, metric) for name in there for metric in metrics_of(scores)]
    rows = [
        Row(label, tuple(_member(board, name, metric, label, method) for name, metric in places))
        for label, method in headings
    ]
    best = with_best_of_columns(rows, [metric in LOWER_IS_BETTER for _, metric in places])
    shown = with_paper_rows(best, [method for _, method in headings])
    return [
        Table(
            name="-".join(there),
            title=" and ".join(name.upper() for name in there),
            corner="method",
            columns=tuple(f"{name.upper()} {TITLES[metric]}" for name, metric in places),
            rows=shown,
            notes=budget_notes(scores) + paper_notes(shown, scores) + transfer_facts(scores),
            advice=transfer_note(scores),
            lower=tuple(metric in LOWER_IS_BETTER for _, metric in places),
            group=there[0],
        )
    ]
