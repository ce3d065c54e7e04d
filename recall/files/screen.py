"""Whether output reaches a terminal, and not a file or another program."""

import contextlib

from rich.console import Console


def is_terminal(console: Console) -> bool:
    """Return True if a console writes to a terminal.

    FORCE_COLOR, which makes rich say so of any console, is about colour alone: a file of
    tab-separated lines stays one.
    """
    # What a program puts in the place of a stream may have no `isatty`, or be closed.
    with contextlib.suppress(AttributeError, ValueError):
        return console.is_terminal and console.file.isatty()
    return False
