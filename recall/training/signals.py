"""Handling of Ctrl-C, SIGTERM and SIGHUP: the first saves and exits, a later one exits at once.

A thread of its own hears of a signal at once; Python's handlers wait for a compilation to end.
"""

import contextlib
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator

from recall.files.streams import redirect_to_devnull

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Signals within this time count as one: a terminal, a shell and a job system may all send one.
SECONDS_AS_ONE = 1.0


class Stop:
    """The signal that was received, if any."""

    signal_number: int | None = None

    @property
    def exit_status(self) -> int:
        """Return the exit status that shells expect of a process ended by a signal."""
        return 128 + (self.signal_number or signal.SIGINT)


def _listen(
    reader: socket.socket, stop: Stop, on_first: Callable[[], None], on_second: Callable[[], None]
) -> None:
    """Hear of signals in a thread, through a socket to which the interpreter writes them."""
    first_at = 0.0
    while heard := reader.recv(1):
        number = heard[0]
        if number == signal.SIGHUP:
            _leave_terminal()
        if number not in _SIGNALS:
            continue
        if stop.signal_number is None:
            first_at, stop.signal_number = time.monotonic(), number
            with contextlib.suppress(OSError):  # nobody may be left to read it
                on_first()
        elif time.monotonic() - first_at > SECONDS_AS_ONE:
            with contextlib.suppress(OSError):
                on_second()
            os._exit(128 + number)  # an exception would wait for a compiled function to return


@contextlib.contextmanager
def stopping(on_first: Callable[[], None], on_second: Callable[[], None]) -> Iterator[Stop]:
    """Within this context the first signal calls `on_first`, a later one `on_second` and exits.

    Both are called in another thread. Signals within a second of the first count as one.
    """
    stop = Stop()  # Python delivers signals to the main thread only
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    woken = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_listen, args=(reader, stop, on_first, on_second), daemon=True)
    thread.start()
    before = {
        number: signal.signal(number, lambda *_: None)  # the listener has heard of it
        for number in _SIGNALS
        # Whoever starts a process with `nohup` wants it to go on.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(woken)
        writer.close()  # which ends the thread
        thread.join(SECONDS_AS_ONE)
        reader.close()


def _leave_terminal() -> None:
    """Send output that would go to a terminal nowhere: after SIGHUP, writing to it is an error."""
    for file in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            descriptor = file.fileno()  # type: ignore[union-attr]
            # A terminal that was closed is no longer one for isatty.
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                redirect_to_devnull(descriptor)
