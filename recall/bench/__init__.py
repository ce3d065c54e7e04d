"""Measurements of our speed beside our peers', for `recall bench`."""
