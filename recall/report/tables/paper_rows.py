"""Set the paper's numbers beside runs with the paper's settings, else in rows of their own.

A number of the paper next to ours reads as the same experiment. So it stands in the same cell only
if the runs have the settings of the preset `paper` and the paper's number of steps.
"""

import dataclasses
from collections.abc import Iterable, Sequence

from recall.report.paper import published
from recall.report.tables.table import Cell, Row
from recall.results.departures import (
    DEFAULT,
    EXPLORATION,
    PAPER,
    PRECISION,
    SCHEDULE,
    departures,
)
from recall.results.labels import in_words, label_of
from recall.results.scores import Scores
from recall.results.wording import few

_MOST_SETTINGS = 6


def has_papers_settings(scores: Scores, but: frozenset[str] = frozenset()) -> bool:
    """Return True if runs have the paper's settings and steps; settings in `but` may differ."""
    run = scores.runs[0]
    return (
        run.source == "recall"
        and run.preset == PAPER
        and set(run.changes) <= but
        and not {PRECISION, *EXPLORATION} & set(departures(run.method, run.settings, PAPER))
        and run.steps_per_task == published()["steps_per_task"]
    )


def label_for_paper(labels: Iterable[str], method: str) -> str:
    """Return the label whose row or column the paper's numbers of a method belong to.

    It is the one with the paper's settings if there is one, and the plain method otherwise.
    """
    as_paper = label_of(method, preset=PAPER)
    return as_paper if as_paper in set(labels) else label_of(method, preset=DEFAULT)


def with_paper_rows(rows: Sequence[Row], methods: Sequence[str] = ()) -> tuple[Row, ...]:
    """Move the paper's numbers of other settings into rows of their own, below ours.

    `methods` names the method of each row, for rows that are labels.
    """
    shown = []
    for number, row in enumerate(rows):
        theirs = [
            Cell(paper=each.paper) if each.paper is not None and not each.same_settings else Cell()
            for each in row.cells
        ]
        ours = [
            each if each.same_settings else dataclasses.replace(each, paper=None)
            for each in row.cells
        ]
        if any(each.ours is not None or each.text or each.paper for each in ours):
            shown.append(Row(row.heading, tuple(ours)))
        if any(each.paper is not None for each in theirs):
            name = label_of(methods[number]) if methods else row.heading
            shown.append(Row(f"{name} (paper)", tuple(theirs)))
    return tuple(shown)


def paper_notes(rows: Sequence[Row], scores: Iterable[Scores]) -> tuple[str, ...]:
    """Return notes on what the paper's numbers are, and how our settings differ from its own."""
    if not any(each.paper is not None for row in rows for each in row.cells):
        return ()
    facts = published()
    note = (
        f"(paper): the paper's own numbers, {facts['seeds']} runs of {facts['steps_per_task']:,} "
        "steps per task in the simulator of 2021."
    )
    return note, *_differences(scores)


def _differences(scores: Iterable[Scores]) -> list[str]:
    found: dict[str, dict[str, None]] = {}
    for each in scores:
        run = each.runs[0]
        if run.source == "recall" and run.settings:
            changed = departures(run.method, run.settings, PAPER)
            words = [
                in_words({name: value})
                for name, value in changed.items()
                if name in EXPLORATION or not name.startswith(SCHEDULE)
            ]
            if words:
                found.setdefault(few(words, _MOST_SETTINGS), {})[each.label] = None
    return [
        f"Settings that are not the paper's: {words} in {', '.join(labels)}."
        for words, labels in found.items()
    ]
