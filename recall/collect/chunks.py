"""Chunks one at a time: ordered ahead, waited for when needed, kept in checkpoints meanwhile."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from recall.collect.pool import ChunkRequest, Pool
from recall.worlds.episodes import Outcome
from recall.worlds.simulator import Array

Ended = list[tuple[int, int, Outcome]]  # the episodes that ended, with run and position


class Chunks:
    """The chunk that comes next: not ordered, being rolled, or waiting."""

    def __init__(self, pool: Pool):
        self._pool = pool
        self._rolling = False
        self._waiting: tuple[Array, Ended] | None = None

    @property
    def ordered(self) -> bool:
        """Whether there is one on its way."""
        return self._rolling or self._waiting is not None

    def order(self, requests: Sequence[ChunkRequest]) -> None:
        """Let the workers roll the next chunk."""
        self._pool.order_chunk(requests)
        self._rolling = True

    def settle(self) -> None:
        """Wait until the workers are idle."""
        if self._rolling:
            self._waiting = self._pool.wait_chunk()
            self._rolling = False

    def take(self) -> tuple[Array, Ended]:
        """Rows [run, part, chunk, columns] of the ordered chunk, and the episodes that ended."""
        self.settle()
        assert self._waiting is not None, "no chunk was ordered"
        taken, self._waiting = self._waiting, None
        return taken

    def saved(self) -> tuple[dict[str, Array], list[Any] | None]:
        """What a checkpoint must hold, workers being idle: arrays, and plain data."""
        arrays = {"states": self._pool.states(), "rows": np.zeros_like(self._pool.shared["rows"])}
        if self._waiting is None:
            return arrays, None
        rows, ended = self._waiting
        return arrays | {"rows": rows}, [[run, at, *outcome] for run, at, outcome in ended]

    def restore(self, arrays: dict[str, Array], ended: list[Any] | None) -> None:
        """Go on from what `saved` gave."""
        self._pool.set_states(arrays["states"])
        self._waiting = None
        if ended is not None:
            outcomes = [(run, at, Outcome(*outcome)) for run, at, *outcome in ended]
            self._waiting = (np.asarray(arrays["rows"]), outcomes)
