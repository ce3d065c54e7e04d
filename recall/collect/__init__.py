"""Collecting: worker processes that roll chunks and episodes with a NumPy copy of the actor."""
