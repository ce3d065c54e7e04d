"""Batches drawn from replay, and the view of how full replay is."""

from typing import Any, NamedTuple

from recall.nets.arrays import Array
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Heads, Layout
from recall.replay.n_step import Future


class Stored(NamedTuple):
    """Outputs of the networks for old rows, at the end of their task; meaningless for new rows."""

    policy: Gaussian  # [batch, act]
    q: Array  # [critic, batch] raw values


class Batch(NamedTuple):
    """Sampled transitions: first the new rows, then the rows of old tasks."""

    observation: Array  # [batch, obs]
    action: Array  # [batch, act]
    reward: Array  # [batch] of the action itself
    future: Future  # what the target takes from the steps after the action
    heads: Heads  # [heads] tasks whose heads this batch uses, the current one last
    layout: Layout  # which of `heads` each row belongs to
    new: Array  # [batch] 1 for rows of the current task, else 0
    stored: Stored | None
    notes: Any = None  # what the method's own sampling wants to know later about the rows


class ReplayView(NamedTuple):
    """Sizes of what replay holds in the current stage; the same for all runs of a fleet."""

    task: Array  # position of the current task in the sequence
    new_size: Array  # number of transitions of the current task
    old_sizes: Array  # [task] number of transitions kept of each task
    collected: Array  # [task] number of transitions collected of each task so far
    stride: Array  # slots from a transition to the next one of the same environment
