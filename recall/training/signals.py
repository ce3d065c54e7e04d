"""Ctrl-C and SIGTERM: save and leave within seconds; the second one leaves at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Which signal came, if one did."""

    signal_number: int | None = None

    @property
    def exit_status(self) -> int:
        """What a shell expects of a process that a signal ended."""
        return 128 + (self.signal_number or signal.SIGINT)


@contextlib.contextmanager
def stopping(on_first: Callable[[], None], on_second: Callable[[], None]) -> Iterator[Stop]:
    """Within, the first signal calls `on_first`; the next calls `on_second` and ends the process.

    Signals reach the main thread alone; in any other nothing is changed.
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
