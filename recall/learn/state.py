"""The learner's state, as declared tuples."""

from typing import Any, NamedTuple

from recall.nets.adam import Moments
from recall.nets.arrays import Array, Params
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Rows, in_blocks, twice_trunk
from recall.replay.batch import Batch


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


class LearnerState(NamedTuple):
    """One run's learner. Randomness is a function of `key` and the number of the update."""

    trainable: Trainable
    method_state: Any  # the method's own state, a pytree
    key: Array
    failed_at: Array  # number of the first update that met a non-finite number, or -1


class TrainedParams(NamedTuple):
    """What the joint loss trains; heads in blocks, as the batch uses them (recall.nets.heads)."""

    actor: Params
    critic: Params
    log_alpha: Params


Gradients = TrainedParams  # of the joint loss, leaf by leaf
