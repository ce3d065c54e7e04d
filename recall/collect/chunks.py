"""Chunks one at a time: ordered ahead, waited for when needed, kept in checkpoints meanwhile."""

from typing import Any

import numpy as np

from recall.collect.pool import Pool
from recall.worlds.base import Array
from recall.worlds.episodes import Outcome

Ended = list[tuple[int, Outcome]]  # the episodes that ended, with their run


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

    def order(self, policies: Array | None, first_step: int) -> None:
        """Let the workers roll the next chunk; without policies they act uniformly."""
        self._pool.order_chunk(policies, first_step)
        self._rolling = True

    def settle(self) -> None:
        """Wait until the workers are idle."""
        if self._rolling:
            self._waiting = self._pool.wait_chunk()
            self._rolling = False

    def take(self) -> tuple[Array, Ended]:
        """Rows [run, chunk, columns] of the ordered chunk, and the episodes that ended in it."""
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
        return arrays | {"rows": rows}, [[run, *outcome] for run, outcome in ended]

    def restore(self, arrays: dict[str, Array], ended: list[Any] | None, position: int) -> None:
        """Go on from what `saved` gave, in the task at `position`."""
        self._pool.begin_task(position, arrays["states"])
        self._waiting = None
        if ended is not None:
            outcomes = [(item[0], Outcome(*item[1:])) for item in ended]
            self._waiting = (np.asarray(arrays["rows"]), outcomes)
