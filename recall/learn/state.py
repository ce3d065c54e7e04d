"""The learner's state, as declared tuples."""

from typing import Any, NamedTuple

from recall.nets.adam import Moments
from recall.nets.arrays import Array, Params
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Rows, in_blocks, twice_trunk
from recall.replay.batch import Batch


class Forward(NamedTuple):
    """Results of the joint loss on a batch, for the method's own terms."""

    batch: Batch
    policy: Gaussian  # [batch, act] of the current parameters
    q: Array  # [critic, batch] normalised values of the stored actions
    target: Array  # [batch] raw targets: bootstrapped, or stored where critics are distilled


class Trainable(NamedTuple):
    """Networks, temperatures, optimisers and statistics. Per-task leaves are below "heads"."""

    actor: Params
    critic: Params
    target: Params
    log_alpha: Params  # {"heads": [task]}
    actor_moments: Moments
    critic_moments: Moments
    alpha_moments: Moments
    popart: Params  # {"heads": popart.Statistics}
    rewards: Params  # {"heads": value_bounds.RewardRange}
    averaged: Params | None  # the actor's average, if the method keeps one


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
        """Return the networks of `trainable` with all heads."""
        return cls(
            trainable.actor,
            trainable.critic,
            trainable.target,
            trainable.log_alpha,
            trainable.popart,
            trainable.rewards,
        )

    def in_blocks(self, rows: Rows | Array) -> "Networks":
        """Return the networks split as the rows of the batch use them.

        New and old rows get a trunk each, so that their gradients are separate.
        """

        def split(params: Params) -> Params:
            return params | {"heads": in_blocks(params["heads"], rows)}

        def twice(params: Params) -> Params:
            return split(params) | {"trunk": twice_trunk(params["trunk"], rows)}

        return self._replace(
            actor=twice(self.actor), critic=twice(self.critic), target=split(self.target)
        )


class LearnerState(NamedTuple):
    """State of one run's learner. Randomness depends on `key` and the update's number alone."""

    trainable: Trainable
    method_state: Any  # the method's own state, a pytree
    key: Array
    failed_at: Array  # number of the first update that met a non-finite number, or -1

    @property
    def evaluated_actor(self) -> Params:
        """Return the actor that is evaluated and distilled: its average, if there is one."""
        averaged = self.trainable.averaged
        return self.trainable.actor if averaged is None else averaged


class TrainedParams(NamedTuple):
    """Parameters that the joint loss trains; heads are in blocks (recall.nets.heads)."""

    actor: Params
    critic: Params
    log_alpha: Params


Gradients = TrainedParams  # of the joint loss, leaf by leaf
