"""Scores by number of tasks, until tables have them as frames."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from recall.analysis.frames import Analysis, runs_of, select
from recall.analysis.scores import ScoreBoard
from recall.report.tables import by_length

LEAST = by_length.LEAST


def scores_by_length(
    analysis: Analysis, labels: Sequence[str]
) -> dict[str, dict[int, pd.DataFrame]]:
    """Return scores by label and number of tasks, of the sequences that all labels have."""
    board = ScoreBoard(analysis.collection, analysis.measure)
    return {
        label: {
            length: select(analysis.scores, label=label, sequence=[s.sequence for s in group])
            for length, group in groups.items()
        }
        for label, groups in by_length.scores_by_length(board, labels).items()
    }


def lengths_apart(found: Mapping[str, Mapping[int, pd.DataFrame]]) -> list[int]:
    """Return the numbers of tasks at which labels have different sequences."""
    apart = []
    for length in sorted({length for groups in found.values() for length in groups}):
        sets = [set(groups[length].sequence) for groups in found.values() if length in groups]
        if not set.intersection(*sets):
            apart.append(length)
    return apart


def milliseconds_of_step(rows: pd.DataFrame) -> float | None:
    """Return the training time per step of a run in milliseconds, or None if not recorded."""
    found = [1e3 * run.seconds / run.total_steps for run in runs_of(rows) if run.seconds]
    return float(np.mean(found)) if found else None
