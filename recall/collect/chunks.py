"""Chunks of a fleet: ordered up to two ahead, awaited one at a time, and checkpointed.

A thread gives the workers their orders, because policies arrive only when the device has computed
them. The trainer can queue the next burst instead of waiting for them.
"""

import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from recall.collect.pool import ChunkRequest, Pool
from recall.worlds.episodes import Outcome
from recall.worlds.simulator import Array

# After this time a running thread gives Python's lock to one that waits for it. By default it is
# 5 ms, and workers would idle: the trainer starts a burst and writes records while they get orders.
_SWITCH_SECONDS = 0.0002

Ended = list[tuple[int, int, Outcome]]  # episodes that ended: (run, position, outcome)


class Chunks:
    """The chunks to come. The next one is not ordered, being rolled out, or waiting to be taken."""

    def __init__(self, pool: Pool):
        self._pool = pool
        self._thread = ThreadPoolExecutor(1, "recall-orders")
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch_seconds, _SWITCH_SECONDS))
        self._orders: deque[Future[None]] = deque()  # of the chunks that are being rolled out
        self._waiting: tuple[Array, Ended] | None = None

    @property
    def ordered(self) -> int:
        """Return the number of chunks that are being rolled out or waiting."""
        return len(self._orders) + (self._waiting is not None)

    def order(self, requests: Sequence[ChunkRequest]) -> None:
        """Have the workers roll out one more chunk as soon as its policies have arrived."""
        self._orders.append(self._thread.submit(self._pool.order_chunk, requests))

    def wait(self) -> None:
        """Wait until the next chunk, if it is ordered, can be taken."""
        if self._waiting is None and self._orders:
            self._orders[0].result()
            self._waiting = self._pool.wait_chunk()
            self._orders.popleft()

    def take(self) -> tuple[Array, Ended]:
        """Return the next chunk: rows [run, part, chunk, columns] and the ended episodes."""
        self.wait()
        assert self._waiting is not None, "no chunk was ordered"
        taken, self._waiting = self._waiting, None
        return taken

    def saved(self) -> tuple[dict[str, Array], list[Any] | None]:
        """Return the state for a checkpoint, after `wait`: arrays, and plain data.

        A second chunk that is ordered is not part of it. It will be collected again, from the same
        states with the same policies.
        """
        arrays = {"states": self._pool.states(), "rows": self._pool.no_rows()}
        if self._waiting is None:
            return arrays, None
        rows, ended = self._waiting
        return arrays | {"rows": rows}, [[run, at, *outcome] for run, at, outcome in ended]

    def restore(self, arrays: dict[str, Array], ended: list[Any] | None) -> None:
        """Restore the state that `saved` returned."""
        self._pool.set_states(arrays["states"])
        self._waiting = None
        if ended is not None:
            outcomes = [(run, at, Outcome(*outcome)) for run, at, *outcome in ended]
            self._waiting = (np.asarray(arrays["rows"]), outcomes)

    def close(self) -> None:
        """Wait for pending orders and end the thread. Call this before closing the pool."""
        self._thread.shutdown()
        sys.setswitchinterval(self._switch_seconds)
