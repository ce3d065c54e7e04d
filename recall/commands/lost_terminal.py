"""Output that may outlive its terminal.

A command that the shell has disowned goes on when its terminal is closed, without a signal.
Whatever it prints from then on is an error of the system, which must not end a training.
"""

import contextlib
import errno
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from recall.files.streams import redirect_to_devnull


class _Outliving:
    """A stream to a terminal that leads nowhere once the terminal is lost."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        self._unless_lost(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._unless_lost(self._stream.flush)

    def _unless_lost(self, output: Callable[[], Any]) -> None:
        try:
            output()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            redirect_to_devnull(self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def outliving_terminal() -> Iterator[None]:
    """In this context, let what is printed on a terminal be lost if the terminal is."""
    before = sys.stdout, sys.stderr
    # A stream is None if the command was started with the descriptor closed.
    streams: Any = [
        _Outliving(stream) if stream is not None and stream.isatty() else stream
        for stream in before
    ]
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
