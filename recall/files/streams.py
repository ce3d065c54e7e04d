"""Output streams: whether one reaches a terminal, and how to discard what is written to one."""

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def is_terminal(console: "Console") -> bool:
    """Return True if a console writes to a terminal.

    FORCE_COLOR, which makes rich say so of any console, is about colour alone: a file of
    tab-separated lines stays one.
    """
    # What a program puts in the place of a stream may have no `isatty`, or be closed.
    with contextlib.suppress(AttributeError, ValueError):
        return console.is_terminal and console.file.isatty()
    return False


def redirect_to_devnull(descriptor: int) -> None:
    """Discard whatever is written to a descriptor from now on."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, descriptor)
    os.close(devnull)
