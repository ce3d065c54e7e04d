"""A note on intervals, for importers of its earlier place."""

from recall.report.tables.families import OF_INTERVALS as OF_INTERVALS
