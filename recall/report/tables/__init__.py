"""Build every table of a report, in the order of the report."""

from collections.abc import Mapping, Sequence
from typing import Any

from recall.analysis.scores import ScoreBoard
from recall.report.tables.alone import single_tables
from recall.report.tables.appendix import lambda_tables, replay_mode_table, sharing_tables
from recall.report.tables.by_length import scaling_tables
from recall.report.tables.by_task import task_tables
from recall.report.tables.cost import cost_tables
from recall.report.tables.exploration import exploration_table
from recall.report.tables.families import family_tables, long_table
from recall.report.tables.pairs import pair_tables
from recall.report.tables.pairwise import family_differences
from recall.report.tables.per_sequence import sequence_tables
from recall.report.tables.provisional import provisional_tables
from recall.report.tables.returns import return_tables
from recall.report.tables.table import Table
from recall.report.tables.variant_tables import variant_tables


def all_tables(board: ScoreBoard, benches: Sequence[Mapping[str, Any]] = ()) -> list[Table]:
    """Return all tables that have something to show."""
    return [
        *family_tables(board),
        *family_differences(board),
        *task_tables(board),
        *long_table(board),
        *pair_tables(board),
        *lambda_tables(board),
        *sharing_tables(board),
        *replay_mode_table(board),
        *variant_tables(board),
        *scaling_tables(board),
        *sequence_tables(board),
        *return_tables(board),
        *provisional_tables(board),
        *exploration_table(board),
        *single_tables(board),
        *cost_tables(board.collection, [dict(bench) for bench in benches]),
    ]
