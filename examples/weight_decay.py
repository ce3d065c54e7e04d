"""A method of one's own: SAC whose actor is pulled towards zero.

    L = L_SAC + decay Σ_i θ_i²

Try it with

    recall train --plugin examples/weight_decay.py --method weight_decay --preset quick \
        --sequence point-slide,point-poor
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

from recall.learn.agent import Agent
from recall.methods import Method, register_method
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.gaussian import Gaussian
from recall.replay.batch import Batch
from recall.settings.checked import NotNegative


@register_method
@dataclass(frozen=True)
class WeightDecay(Method):
    """SAC with an L2 penalty on the actor's shared weights."""

    name: ClassVar[str] = "weight_decay"
    label: ClassVar[str] = "Decay"
    summary: ClassVar[str] = "Pulls the actor's shared weights towards zero."
    reference: ClassVar[str] = "Krogh and Hertz, A Simple Weight Decay, 1991"
    colour: ClassVar[str] = "#44aa99"

    decay: NotNegative = 1e-4
    """Weight of the penalty."""

    def extra_actor_loss(
        self, agent: Agent, method_state: Any, actor: Params, batch: Batch, policy: Gaussian
    ) -> tuple[Array | float, Metrics]:
        """Return the penalty, and report it as a metric."""
        loss = jnp.sum(actor["trunk"] ** 2)
        return self.decay * loss, {"loss_decay": loss}
