"""Build every table of a report, in the order of the report."""

from recall.analysis.frames import Analysis
from recall.report.tables.pivot import Table
from recall.report.tables.sequences import family_tables, return_tables, sequence_tables
from recall.report.tables.short import pair_tables, single_tables
from recall.report.tables.variants import reward_tables, variant_tables


def all_tables(analysis: Analysis) -> list[Table]:
    """Return all tables that have something to show."""
    makers = (family_tables, pair_tables, variant_tables, sequence_tables, reward_tables,
              return_tables, single_tables)  # fmt: skip
    tables = (table.trimmed() for make in makers for table in make(analysis))
    return [table for table in tables if table.rows]
