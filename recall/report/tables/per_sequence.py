"""The display name of a sequence, for importers of its earlier place."""

from recall.analysis.families import display_name as display_name
