"""Worlds: the tasks that experience comes from, and the sequences they form."""
