"""Build every table of a report, in the order of the report."""

from recall.analysis.frames import Analysis
from recall.report.tables.pairs import pair_tables
from recall.report.tables.rewards import reward_tables
from recall.report.tables.sequences import family_tables, return_tables, sequence_tables
from recall.report.tables.single import single_tables
from recall.report.tables.table import Table, trimmed
from recall.report.tables.variants import variant_tables


def all_tables(analysis: Analysis) -> list[Table]:
    """Return all tables that have something to show."""
    tables = [
        *family_tables(analysis),
        *pair_tables(analysis),
        *variant_tables(analysis),
        *sequence_tables(analysis),
        *reward_tables(analysis),
        *return_tables(analysis),
        *single_tables(analysis),
    ]
    return [table for table in map(trimmed, tables) if table.rows]
