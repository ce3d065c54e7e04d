"""The vocabulary that replay, methods and the learner share.

Axes, everywhere: `run` (runs of a fleet), `task` (position in the sequence, one head each),
`slot` (place in a buffer), `batch` (rows of a batch), `obs`, `act`. Functions are written for one
run; the run axis is added by vmap in one place.
"""

from typing import Any, NamedTuple, Protocol

import jax

from recall.nets.adam import Moments
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Heads, Rows, in_blocks, twice_trunk
from recall.nets.multihead import MultiHead

Array = jax.Array
Params = Any
Metrics = dict[str, Array]


class Model(Protocol):
    """A run's networks as functions of their parameters: what a method may compute with them."""

    @property
    def actor(self) -> MultiHead:
        """Observation -> mean and log std; knows the layers of its flat trunk."""

    @property
    def critic(self) -> MultiHead:
        """Observation and action -> value."""

    def policy(self, actor: Params, observation: Array, rows: Rows | Array) -> Gaussian:
        """[batch, obs] -> the policy of each row's head."""

    def policy_of_task(self, actor: Params, observation: Array, task: Array | int) -> Gaussian:
        """[batch, obs] -> the policy of one task."""

    def q(self, critic: Params, observation: Array, action: Array, rows: Rows | Array) -> Array:
        """[critic, batch] the two critics' normalised values."""


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


class Forward(NamedTuple):
    """What the joint loss computed on a batch, for a method's own terms."""

    batch: Batch
    policy: Gaussian  # [batch, act] of the current parameters
    q: Array  # [critic, batch] normalised values of the stored actions
    target: Array  # [batch] raw targets, bootstrapped


class Trainable(NamedTuple):
    """Networks, temperatures, optimisers, statistics. Per-task leaves stand below "heads"."""

    actor: Params
    critic: Params
    target: Params
    log_alpha: Params  # {"heads": [task]}
    actor_moments: Moments
    critic_moments: Moments
    alpha_moments: Moments
    popart: Params  # {"heads": popart.Statistics}
    rewards: Params  # {"heads": value_bounds.RewardRange}
    averaged: Params | None  # the actor's average, where the method acts from one


class Networks(NamedTuple):
    """The part of `Trainable` that losses read, with the heads of one batch only."""

    actor: Params
    critic: Params
    target: Params
    log_alpha: Params
    popart: Params
    rewards: Params

    @classmethod
    def of(cls, trainable: Trainable) -> "Networks":
        """All heads."""
        return cls(
            trainable.actor,
            trainable.critic,
            trainable.target,
            trainable.log_alpha,
            trainable.popart,
            trainable.rewards,
        )

    def in_blocks(self, rows: Rows | Array) -> "Networks":
        """The networks as the rows of the batch use them.

        New and old rows have a trunk each, so that their gradients come apart.
        """

        def split(params: Params) -> Params:
            return params | {"heads": in_blocks(params["heads"], rows)}

        def twice(params: Params) -> Params:
            return split(params) | {"trunk": twice_trunk(params["trunk"], rows)}

        return self._replace(
            actor=twice(self.actor), critic=twice(self.critic), target=split(self.target)
        )


class Gradients(NamedTuple):
    """Of the joint loss; heads in blocks, as the batch used them (recall.nets.heads)."""

    actor: Params
    critic: Params
    log_alpha: Params


class LearnerState(NamedTuple):
    """One run's learner. Randomness is a function of `key` and the number of the update."""

    trainable: Trainable
    method: Any  # the method's own state, a pytree
    key: Array
    failed_at: Array  # number of the first update that met a non-finite number, or -1


class Stage(NamedTuple):
    """Where a fleet stands; the same for all its runs."""

    task: Array  # position in the sequence
    new_size: Array  # transitions of the current task in replay
    old_sizes: Array  # [task] transitions kept of each task
