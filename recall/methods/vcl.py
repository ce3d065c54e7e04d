"""VCL: variational continual learning, where each task's posterior is the next task's prior.

Every shared parameter of the actor is a Gaussian, q(theta_i) = N(m_i, s_i^2). Each update trains
with one draw theta = m + s eps and adds the loss

    L_KL = lambda sum_i [log(s'_i / s_i) + (s_i^2 + (m_i - m'_i)^2) / (2 s'_i^2) - 1/2]

where N(m', s'^2) is the posterior after the previous task. Acting uses the means. Weights that
old tasks determine precisely (small s') can hardly move; the others can.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Draw, Method
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.gaussian import Gaussian
from recall.replay.batch import Batch
from recall.settings.checked import NotNegative, Range
from recall.settings.scalars import SCALAR, applies

SPREAD = "trunk_log_std"


class Prior(NamedTuple):
    """Prior of the actor's trunk. `weight` is lambda, or 0 while the first task has no prior."""

    mean: Array
    log_std: Array
    weight: Array


def divergence(mean: Array, log_std: Array, prior: Prior) -> Array:
    """Return KL(q || prior), summed over all parameters."""
    ratio = log_std - prior.log_std
    distance = (mean - prior.mean) * jnp.exp(-prior.log_std)
    return jnp.sum(0.5 * (jnp.exp(2.0 * ratio) + distance**2 - 1.0) - ratio)


@dataclass(frozen=True)
class Vcl(Method):
    """Bayesian actor: a Gaussian over every parameter of its trunk."""

    name: ClassVar[str] = "vcl"
    label: ClassVar[str] = "VCL"
    summary: ClassVar[str] = "A Bayesian actor; each task's posterior is the next one's prior."
    reference: ClassVar[str] = "Nguyen et al., Variational Continual Learning, 2018"
    colour: ClassVar[str] = "#810a8d"

    weight: Annotated[NotNegative, SCALAR] = 1.0
    """Weight (lambda) of the KL loss."""
    initial_log_std: Annotated[float, Range(most=0), SCALAR] = -3.0
    """Initial log standard deviation of every shared parameter's posterior."""
    first_task_kl: bool = False
    """Whether the first task has a standard normal prior; otherwise it has none."""

    def init_actor(self, actor: Params, key: Array) -> Params:
        """Add the log standard deviations; the network's initial parameters are the means."""
        return actor | {SPREAD: jnp.full_like(actor["trunk"], self.initial_log_std)}

    def init(self, agent: Agent, state: LearnerState) -> Prior:
        """Return a standard normal prior; its weight is 0 unless the first task has a prior."""
        zeros = jnp.zeros_like(state.trainable.actor["trunk"])
        weight = self.weight if self.first_task_kl else 0.0
        return Prior(zeros, zeros.copy(), jnp.asarray(weight, jnp.float32))

    def actor_for_training(self, method_state: Any, actor: Params, key: Array) -> Params:
        """Return an actor with one draw of the trunk, used for the whole batch."""
        noise = jnp.exp(actor[SPREAD]) * jax.random.normal(key, actor[SPREAD].shape)
        # The trunk may come twice, for new and for old rows; both get the same draw.
        drawn = jax.tree.map(lambda means: means + noise, actor["trunk"])
        return {"trunk": drawn, "heads": actor["heads"]}

    def actor_for_task(self, method_state: Any, actor: Params, task: Array) -> Params:
        """Return an actor with the means."""
        return {"trunk": actor["trunk"], "heads": actor["heads"]}

    def extra_actor_loss(
        self, agent: Agent, method_state: Any, actor: Params, batch: Batch, policy: Gaussian
    ) -> tuple[Array | float, Metrics]:
        """Return the weighted L_KL."""
        if not applies(self.weight):
            return 0.0, {}
        loss = divergence(actor["trunk"], actor[SPREAD], method_state)
        return method_state.weight * loss, {
            "loss_kl": jnp.where(method_state.weight > 0, loss, 0.0)
        }

    def on_task_end(
        self, agent: Agent, state: LearnerState, task: Array, draw: Draw, key: Array
    ) -> LearnerState:
        """Make the posterior that is evaluated the prior of the next task."""
        actor = state.evaluated_actor
        prior = Prior(
            actor["trunk"], actor[SPREAD], jnp.full_like(state.method_state.weight, self.weight)
        )
        return state._replace(method_state=prior)
