"""Handling of Ctrl-C and SIGTERM: the first saves and exits, the second exits at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """The signal that was received, if any."""

    signal_number: int | None = None

    @property
    def exit_status(self) -> int:
        """Return the exit status that shells expect of a process ended by a signal."""
        return 128 + (self.signal_number or signal.SIGINT)


@contextlib.contextmanager
def stopping(on_first: Callable[[], None], on_second: Callable[[], None]) -> Iterator[Stop]:
    """Within this context the first signal calls `on_first`, the next `on_second` and exits.

    Python delivers signals to the main thread only; in any other thread nothing is changed.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.signal_number is not None:
            on_second()
            os._exit(128 + number)  # an exception would wait for a compiled function to return
        stop.signal_number = number
        on_first()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
