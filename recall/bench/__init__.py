"""Measure our speed next to that of other packages, for `recall bench`."""
