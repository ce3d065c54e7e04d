"""Behavioural cloning: the common base of ClonEx and CLEAR, not a method itself.

On rows of old tasks, the current networks are trained towards the outputs that the networks had
at the end of that task:

    L_clone = lambda_pi E_old KL(pi, pi_old) + lambda_Q E_old 1/2 sum over critics (Q - Q_old)^2

Replay stores these outputs of policy and critics with the rows.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax.numpy as jnp

from recall.errors import BadValueError
from recall.learn.agent import Agent
from recall.learn.method import Method, Needs, Sampling
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.gaussian import Gaussian
from recall.replay.batch import Batch
from recall.settings.checked import NotNegative
from recall.settings.scalars import SCALAR, applies


def mean_of_old(batch: Batch, values: Array) -> Array:
    """Return the mean of values [batch] over the rows of old tasks, or 0 if there are none."""
    old = 1.0 - batch.new
    # New rows have no stored outputs, so they must affect neither the value nor the gradient.
    return jnp.sum(jnp.where(old > 0, values, 0.0)) / jnp.maximum(jnp.sum(old), 1.0)


@dataclass(frozen=True)
class Cloning(Method):
    """Method with batches of a new and an old half, and a cloning loss on the old half."""

    needs: ClassVar[Needs] = {
        "sampling": (("balanced",), "it clones policies on the old rows of every batch")
    }

    sampling: Sampling = "balanced"
    weight: Annotated[NotNegative, SCALAR] = 1.0
    """Weight (lambda_pi) of the policy's cloning loss."""
    critic_weight: Annotated[NotNegative, SCALAR] = 0.0
    """Weight (lambda_Q) of the critics' cloning loss; 0 applies none."""

    def __post_init__(self) -> None:
        """Raise BadValueError for values that no run can use."""
        super().__post_init__()
        if self.critic_weight and self.normalise_targets:
            raise BadValueError(
                f"critic_weight is {self.critic_weight} and normalise_targets is True, but stored "
                "values cannot be cloned once PopArt has changed their scale; use critic_weight=0"
            )

    @property
    def trains_old_critics(self) -> bool:
        """Return True if old critics are rehearsed or cloned."""
        return self.rehearse or applies(self.critic_weight)

    def policy_divergence(self, new: Gaussian, old: Gaussian) -> Array:
        """Return the KL divergence [batch] of policies [batch, act]."""
        raise NotImplementedError

    def extra_actor_loss(
        self, agent: Agent, method_state: Any, actor: Params, batch: Batch, policy: Gaussian
    ) -> tuple[Array | float, Metrics]:
        """Return lambda_pi E_old KL."""
        if not applies(self.weight) or batch.stored is None:
            return 0.0, {}
        loss = mean_of_old(batch, self.policy_divergence(policy, batch.stored.policy))
        return self.weight * loss, {"loss_clone_pi": loss}

    def extra_critic_loss(
        self, agent: Agent, method_state: Any, critic: Params, batch: Batch, q: Array
    ) -> tuple[Array | float, Metrics]:
        """Return lambda_Q E_old 1/2 sum (Q - Q_old)^2."""
        if not applies(self.critic_weight) or batch.stored is None:
            return 0.0, {}
        distance = 0.5 * jnp.sum((q - batch.stored.q) ** 2, axis=0)
        loss = mean_of_old(batch, distance)
        return self.critic_weight * loss, {"loss_clone_q": loss}
