"""The number of cores that fleets in this process count on."""

import os

_given: int | None = None


def use_cores(count: int | None) -> None:
    """Count on so many cores, such as a fleet's share of a node; None: on all there are."""
    global _given
    _given = count


def cores() -> int:
    """Return the number of cores that fleets in this process may use."""
    if _given is not None:
        return _given
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
