"""Tables of methods that were trained under both rewards: do both put them in the same order?"""

import dataclasses

import pandas as pd

from recall.analysis.bootstrap import round_for_comparison
from recall.analysis.estimates import estimate, rank
from recall.analysis.families import display_name
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import label_of, settings_in_words
from recall.analysis.measures import PERFORMANCE
from recall.analysis.run_result import RunResult
from recall.report.tables.pivot import cell, groups_of
from recall.report.tables.table import Cell, Row, Table

REWARD = "world.reward"
_REWARDS = ("v1", "v2")


def reward_tables(analysis: Analysis) -> list[Table]:
    """Return a table for each sequence on which two methods or more were run under both rewards."""
    tables = []
    for sequence in list_of(analysis.scores, "sequence"):
        scores = select(analysis.scores, sequence=sequence)
        found: dict[str, dict[str, pd.DataFrame]] = {}
        for rows in groups_of(scores, list_of(scores, "label")).values():
            run = rows["run"].iloc[0]
            if run.settings.get(REWARD) in _REWARDS and estimate(rows, PERFORMANCE):
                found.setdefault(_without_reward(run), {})[run.settings[REWARD]] = rows
        both = {label: rewards for label, rewards in found.items() if len(rewards) == len(_REWARDS)}
        if len(both) > 1:
            tables.append(_of_sequence(scores["run"].iloc[0], both))
    return tables


def _without_reward(run: RunResult) -> str:
    """Return a run's label, but for what it says of the reward."""
    changes = {name: value for name, value in run.changes.items() if name != REWARD}
    return label_of(run.method, settings_in_words(changes), run.preset)


def _of_sequence(run: RunResult, both: dict[str, dict[str, pd.DataFrame]]) -> Table:
    cells: dict[str, list[Cell]] = {label: [] for label in both}
    places = []
    for reward in _REWARDS:
        groups = {label: rewards[reward] for label, rewards in both.items()}
        shown = {label: cell(rows, PERFORMANCE) for label, rows in groups.items()}
        bold = rank(groups, PERFORMANCE).bold
        values = [each.ours.value for each in shown.values() if each.ours]
        place = pd.Series(round_for_comparison(values), shown).rank(ascending=False)
        places.append(place)
        for label, each in shown.items():
            cells[label] += [
                dataclasses.replace(each, bold=label in bold),
                Cell(text=f"{place[label]:g}"),
            ]
    return Table(
        name=f"{run.sequence}-rewards",
        title=f"Average performance by reward on {display_name(run.sequence, run.tasks)}",
        corner="method",
        columns=tuple(text for each in _REWARDS for text in (f"reward {each}", f"rank by {each}")),
        rows=tuple(Row(label, tuple(row)) for label, row in cells.items()),
        notes=(*_agreement(*places), "Success is judged by the criterion of each reward."),
        group=run.sequence,
    )


def _agreement(one: pd.Series, other: pd.Series) -> list[str]:
    """Return what two rankings have in common; nothing if all methods are equal in one."""
    if 1 in (one.nunique(), other.nunique()):
        return []
    alike = one.corr(other)
    return [f"Spearman's correlation of both ranks, over {len(one)} methods: {alike:.2f}."]
