"""Measurements of our speed beside that of others, for `recall bench`."""
