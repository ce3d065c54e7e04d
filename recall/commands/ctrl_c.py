"""Ctrl-C before a command has anything to save ends it at once.

Python's own handler raises an exception. If that happens while JAX is imported, the exception may
be swallowed, so that the command goes on, or break an extension module that is being initialised.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

EXIT_STATUS = 128 + signal.SIGINT


@contextlib.contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Within this context Ctrl-C ends the process, until another handler takes its place.

    Training has a handler of its own (recall.training.signals). Python delivers signals to the main
    thread only; in any other thread, or if a program has its own handler, nothing is changed.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_STATUS))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
