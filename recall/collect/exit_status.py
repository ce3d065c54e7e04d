"""Exit statuses of processes in words."""

import signal


def how_it_ended(status: int) -> str:
    """Return how a process with this exit status ended, such as "with code 1" or "by SIGTERM"."""
    if status >= 0:
        return f"with code {status}"
    number = -status
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    hint = ", which the system sends when memory runs out" if number == signal.SIGKILL else ""
    return f"by {name}{hint}"
