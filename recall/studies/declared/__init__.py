"""The declarations of all studies, as data."""
