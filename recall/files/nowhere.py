"""Descriptors whose output is lost on purpose."""

import os


def lead_nowhere(descriptor: int) -> None:
    """Let whatever is written to a descriptor from now on be lost."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
