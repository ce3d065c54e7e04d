"""What is drawn from replay, and how full it is."""

from typing import NamedTuple

from recall.nets.arrays import Array
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Heads, Rows


class Stored(NamedTuple):
    """What the networks of the time said of old rows at the end of their task; rubbish in new."""

    policy: Gaussian  # [batch, act]
    q: Array  # [critic, batch] raw values


class Batch(NamedTuple):
    """Sampled transitions. New rows stand first, rows of old tasks behind them."""

    observation: Array  # [batch, obs]
    action: Array  # [batch, act]
    reward: Array  # [batch]
    terminated: Array  # [batch] 0 or 1
    next_observation: Array  # [batch, obs]
    heads: Heads  # [heads] the tasks whose heads this batch uses, the current one last
    rows: Rows | Array  # which of `heads` each row belongs to: a static layout, or [batch]
    new: Array  # [batch] 1 where the row is of the current task
    stored: Stored | None

    def head_of_row(self) -> Array:
        """[batch] which of `heads` each row belongs to."""
        return self.rows.head_of_row() if isinstance(self.rows, Rows) else self.rows


class ReplayView(NamedTuple):
    """What replay holds in the current stage; the same for all runs of a fleet."""

    task: Array  # position in the sequence
    new_size: Array  # transitions of the current task in replay
    old_sizes: Array  # [task] transitions kept of each task
