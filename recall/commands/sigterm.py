"""SIGTERM ends a command as an exception does, so that it removes what it has half written."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

EXIT_STATUS = 128 + signal.SIGTERM


@contextlib.contextmanager
def cleaning_up_on_sigterm() -> Iterator[None]:
    """Within this context the first SIGTERM raises SystemExit, and another ends the process.

    In any other thread than the main one, or if a program has its own handler, nothing is changed.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(EXIT_STATUS)
