"""Scores by number of tasks, until tables have them as frames."""

from recall.analysis.frames import Analysis, runs_of, select
from recall.analysis.scores import ScoreBoard
from recall.report.tables import by_length

LEAST = by_length.LEAST


def scores_by_length(analysis: Analysis, labels):
    board = ScoreBoard(analysis.collection, analysis.measure)
    return {
        label: {
            length: select(analysis.scores, label=label, sequence=[s.sequence for s in group])
            for length, group in groups.items()
        }
        for label, groups in by_length.scores_by_length(board, labels).items()
    }


def lengths_apart(found):
    lengths = sorted({length for groups in found.values() for length in groups})
    apart = []
    for length in lengths:
        sets = [set(groups[length].sequence) for groups in found.values() if length in groups]
        if not set.intersection(*sets):
            apart.append(length)
    return apart


def milliseconds_of_step(rows):
    found = [1000 * r.seconds / r.total_steps for r in runs_of(rows) if r.seconds is not None]
    return sum(found) / len(found) if found else None
