"""Output that may outlive its terminal.

A command that the shell has disowned goes on when its terminal is closed, without a signal.
Whatever it prints from then on is an error of the system, which must not end a training.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO


class _Outliving:
    """A standard stream that leads to nowhere once its terminal is lost."""

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
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def outliving_terminal() -> Iterator[None]:
    """Let everything that is printed in this context be lost if its terminal is."""
    before = sys.stdout, sys.stderr
    streams: Any = [_Outliving(stream) for stream in before]
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
