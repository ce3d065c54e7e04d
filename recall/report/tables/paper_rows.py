"""Set the paper's numbers beside runs with the paper's settings, else in rows of their own.

A number of the paper next to ours reads as the same experiment. So it stands in the same cell only
if the runs have the settings of the preset `paper` and the paper's number of steps.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recall.analysis.departures import COLLECTING, DEFAULT, PAPER, SCHEDULE, STEPS, departures
from recall.analysis.labels import label_of, settings_in_words
from recall.analysis.scores import Scores
from recall.report.paper import published
from recall.report.tables.table import Cell, Row, estimate_text
from recall.runs.wording import few

_MOST_SETTINGS = 8
# Settings that have no effect unless another one is on.
_NEEDS = {
    "learner.popart.": "method.normalise_targets",
    "method.distil_critics": "method.distil",
    "method.distillation_": "method.distil",
    "method.copies": "method.best_return",
}


def has_papers_settings(scores: Scores, but: frozenset[str] = frozenset()) -> bool:
    """Return True if runs have the paper's settings and steps; settings in `but` may differ."""
    run = scores.runs[0]
    return (
        run.source == "recall"
        and run.preset == PAPER
        and set(departures(run.method, run.settings, PAPER)) <= but
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
            added = Row(f"{name} (paper)", tuple(theirs))
            if added not in shown:  # two labels may be of one method
                shown.append(added)
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
    return note, *_slips(rows), *_differences(scores)


def _slips(rows: Sequence[Row]) -> list[str]:
    """Return notes on the paper's numbers that lie outside of their own intervals."""
    theirs = dict.fromkeys(each.paper for row in rows for each in row.cells if each.paper)
    return [
        f"{estimate_text(each)} is as the paper prints it: the interval does not hold its mean."
        for each in theirs
        if each.interval and not each.interval[0] <= each.value <= each.interval[1]
    ]


def _differences(scores: Iterable[Scores]) -> list[str]:
    found: dict[str, dict[str, None]] = {}
    for each in scores:
        run = each.runs[0]
        if run.source == "recall" and run.settings:
            changed = departures(run.method, run.settings, PAPER)
            names = [name for name in changed if _is_told(name, run.settings)]
            # How a run collects comes first, so that a long list does not leave it out.
            names.sort(key=lambda name: name not in COLLECTING)
            words = [settings_in_words({name: changed[name]}) for name in names]
            if words:
                found.setdefault(few(words, _MOST_SETTINGS), {})[each.label] = None
    return [
        f"Settings that are not the paper's: {words} in {', '.join(labels)}."
        for words, labels in found.items()
    ]


def _is_told(name: str, settings: Mapping[str, Any]) -> bool:
    """Return True if a setting has an effect beside the others and is no length of the schedule.

    Lengths are told where the run is as long as the paper's: in a shorter one all of them differ.
    """
    needed = next((needs for part, needs in _NEEDS.items() if name.startswith(part)), None)
    if needed is not None and not settings.get(needed):
        return False
    as_long = settings.get(STEPS) == published()["steps_per_task"]
    return as_long or name in COLLECTING or not name.startswith(SCHEDULE)
