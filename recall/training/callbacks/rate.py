"""How fast a count grows, over the last seconds or minutes."""

import time
from collections import deque


class Rate:
    """Growth per second of a count over a window of time."""

    def __init__(self, window_seconds: float, count: int = 0):
        self._window_seconds = window_seconds
        self._seen: deque[tuple[float, int]] = deque([(time.monotonic(), count)])

    def add(self, count: int) -> None:
        """Note what the count is now, and forget what it was before the window."""
        now = time.monotonic()
        self._seen.append((now, count))
        while now - self._seen[0][0] > self._window_seconds and len(self._seen) > 2:
            self._seen.popleft()

    def clear(self) -> None:
        """Forget everything: the rate has changed. The next count is the first one."""
        self._seen.clear()

    @property
    def per_second(self) -> float:
        """Return the growth per second, 0 if it is not known yet."""
        if not self._seen:
            return 0.0
        (first_time, first), (last_time, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_time - first_time) if last_time > first_time else 0.0
