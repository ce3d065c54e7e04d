"""L2: a penalty that pulls all shared weights equally towards their values after the last task.

    w_i = 1

This is the control for EWC and MAS: any gain over L2 comes from knowing which weights matter.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from recall.learn.agent import Agent
from recall.methods._anchored import Anchored
from recall.nets.arrays import Array, Params
from recall.replay.batch import Batch


@dataclass(frozen=True)
class L2(Anchored):
    """Anchored weights whose importance is 1."""

    name: ClassVar[str] = "l2"
    label: ClassVar[str] = "L2"
    summary: ClassVar[str] = "Pulls every shared weight back to the last task's, all alike."
    reference: ClassVar[str] = "Kirkpatrick et al., Overcoming Catastrophic Forgetting, 2017 (L2)"
    colour: ClassVar[str] = "#9c9349"

    weight: float = 1e5
    importance_batches: int = 1
    """Number of importance batches. The importance of L2 needs no data, so 1 is enough."""
    importance_batch_size: int = 1

    def actor_importance(self, agent: Agent, actor: Params, task: Array, batch: Batch) -> Array:
        """Return ones."""
        return jnp.ones_like(actor["trunk"])

    def critic_importance(self, agent: Agent, critic: Params, task: Array, batch: Batch) -> Array:
        """Return ones."""
        return jnp.ones_like(critic["trunk"])
