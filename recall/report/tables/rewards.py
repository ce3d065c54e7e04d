"""Tables of methods that were trained under both rewards: do both put them in the same order?"""

from dataclasses import replace

import pandas as pd

from recall.analysis.bootstrap import round_for_comparison
from recall.analysis.families import display_name
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import label_of, settings_in_words
from recall.analysis.measures import PERFORMANCE
from recall.analysis.run_result import RunResult
from recall.report.tables.pivot import Key, pivot_table
from recall.report.tables.table import Cell, Table

REWARD = "world.reward"
_REWARDS = ["v1", "v2"]


def reward_tables(analysis: Analysis) -> list[Table]:
    """Return a table for each sequence on which two methods or more were run under both rewards."""
    runs = analysis.scores["run"]
    scores = analysis.scores.assign(
        reward=[run.settings.get(REWARD) for run in runs],
        unrewarded=[_without_reward(run) for run in runs],
    )
    tables = []
    for sequence in list_of(scores, "sequence"):
        rows = select(scores, sequence=sequence, reward=_REWARDS)
        rewards = rows.groupby("unrewarded")["reward"].nunique()
        both = rewards.index[rewards == len(_REWARDS)].tolist()
        if len(both) > 1:
            tables.append(_of_sequence(analysis, select(rows, unrewarded=both)))
    return tables


def _without_reward(run: RunResult) -> str:
    """Return a run's label, but for what it says of the reward."""
    changes = {name: value for name, value in run.changes.items() if name != REWARD}
    return label_of(run.method, settings_in_words(changes), run.preset)


def _of_sequence(analysis: Analysis, scores: pd.DataFrame) -> Table:
    run = scores["run"].iloc[0]
    table = pivot_table(
        analysis,
        scores,
        [Key(label, {"unrewarded": label}) for label in list_of(scores, "unrewarded")],
        [Key(f"reward {reward}", {"reward": reward}, PERFORMANCE) for reward in _REWARDS],
        name=f"{run.sequence}-rewards",
        title=f"Average performance by reward on {display_name(run.sequence, run.tasks)}",
        corner="method",
        group=run.sequence,
    )
    means = scores.groupby(["unrewarded", "reward"])["final"].mean().map(round_for_comparison)
    ranks = means.unstack().rank(ascending=False)
    rows = []
    for row in table.rows:
        first, second = (Cell(text=f"{ranks.at[row.heading, reward]:g}") for reward in _REWARDS)
        rows.append(row._replace(cells=(row.cells[0], first, row.cells[1], second)))
    notes = [*table.notes, "Success is judged by the criterion of each reward."]
    if ranks.nunique().min() > 1:  # where all methods are equal there is no correlation
        alike = ranks["v1"].corr(ranks["v2"])
        notes.append(f"Spearman's correlation of both ranks, {len(ranks)} methods: {alike:.2f}.")
    columns = [text for each in _REWARDS for text in (f"reward {each}", f"rank by {each}")]
    return replace(table, columns=tuple(columns), rows=tuple(rows), notes=tuple(notes))
