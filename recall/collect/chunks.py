"""Chunks of a fleet: ordered ahead, awaited one at a time, and checkpointed.

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
    """The chunks to come: those that wait to be taken, then those that are being rolled out.

    All but the newest were ordered with policies that the learner has left behind. `behind` is the
    largest number of these; a checkpoint holds them.
    """

    def __init__(self, pool: Pool, behind: int = 1):
        self._pool, self._behind = pool, behind
        self._thread = ThreadPoolExecutor(1, "recall-orders")
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch_seconds, _SWITCH_SECONDS))
        self._orders: deque[Future[None]] = deque()  # of the chunks that are being rolled out
        self._waiting: deque[tuple[Array, Ended]] = deque()

    @property
    def ordered(self) -> int:
        """Return the number of chunks that are being rolled out or waiting."""
        return len(self._orders) + len(self._waiting)

    def order(self, requests: Sequence[ChunkRequest]) -> None:
        """Have the workers roll out one more chunk as soon as its policies have arrived."""
        self._orders.append(self._thread.submit(self._pool.order_chunk, requests))

    def wait(self) -> None:
        """Wait for the ordered chunks that a checkpoint holds."""
        while len(self._waiting) < self._behind and self._orders:
            self._wait_for_one()

    def _wait_for_one(self) -> None:
        self._orders[0].result()
        self._waiting.append(self._pool.wait_chunk())
        self._orders.popleft()

    def take(self) -> tuple[Array, Ended]:
        """Return the next chunk: rows [run, part, chunk, columns] and the ended episodes."""
        if not self._waiting:
            assert self._orders, "no chunk was ordered"
            self._wait_for_one()
        return self._waiting.popleft()

    def saved(self) -> tuple[dict[str, Array], list[Any]]:
        """Return the state for a checkpoint, after `wait`: arrays, and plain data.

        A chunk that is still rolled out is not part of it. It will be collected again, from the
        same states with the same policies.
        """
        rows = np.stack([self._pool.no_rows()] * self._behind)  # [waiting chunk, ...]
        for number, (each, _) in enumerate(self._waiting):
            rows[number] = each
        ended = [[[run, at, *outcome] for run, at, outcome in each] for _, each in self._waiting]
        return {"states": self._pool.states(), "rows": rows}, ended

    def restore(self, arrays: dict[str, Array], ended: list[Any]) -> None:
        """Restore the state that `saved` returned."""
        self._pool.set_states(arrays["states"])
        self._waiting.clear()
        for rows, each in zip(arrays["rows"], ended, strict=False):
            outcomes = [(run, at, Outcome(*outcome)) for run, at, *outcome in each]
            self._waiting.append((np.asarray(rows), outcomes))

    def close(self) -> None:
        """Wait for pending orders and end the thread. Call this before closing the pool."""
        self._thread.shutdown()
        sys.setswitchinterval(self._switch_seconds)
