"""An earlier name of `round_for_comparison`."""

from recall.analysis.bootstrap import round_for_comparison as settled

__all__ = ["settled"]
