"""What a command does on Ctrl-C and SIGTERM, and when its terminal is closed.

Training has handlers of its own (recall.training.signals). Where a program has its own handlers,
and in threads other than the main one, nothing is changed.
"""

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from recall.files.streams import redirect_to_devnull

CTRL_C_STATUS = 128 + signal.SIGINT


@contextlib.contextmanager
def exit_at_once_on_ctrl_c() -> Iterator[None]:
    """Within this context Ctrl-C ends the process: for commands that have nothing to clean up.

    The exception of Python's own handler may be swallowed while JAX is imported, so that the
    command continues, or break an extension module that is being initialised.
    """
    with _handling(signal.SIGINT, lambda *_: os._exit(CTRL_C_STATUS)):
        yield


@contextlib.contextmanager
def clean_up_on_sigterm() -> Iterator[None]:
    """Within this context SIGTERM raises SystemExit, so that half-written files are removed.

    A second SIGTERM ends the process.
    """

    def leave(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.exit(128 + signal.SIGTERM)

    with _handling(signal.SIGTERM, leave):
        yield


@contextlib.contextmanager
def _handling(number: signal.Signals, handler: Callable[..., Any]) -> Iterator[None]:
    before = signal.getsignal(number)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before not in (signal.SIG_DFL, signal.default_int_handler):
        yield
        return
    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


class _Tolerant:
    """A stream to a terminal that writes nothing once the terminal is closed."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        self._unless_closed(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._unless_closed(self._stream.flush)

    def _unless_closed(self, output: Callable[[], Any]) -> None:
        try:
            output()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            redirect_to_devnull(self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def tolerate_closed_terminal() -> Iterator[None]:
    """Keep a command running within this context when its terminal closes, as after `disown`."""
    before = sys.stdout, sys.stderr
    # A stream is None if the command was started with the descriptor closed.
    streams: Any = [
        _Tolerant(stream) if stream is not None and stream.isatty() else stream for stream in before
    ]
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
