"""The declared studies, as data."""
