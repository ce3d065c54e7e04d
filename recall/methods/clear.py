"""Adaptation of CLEAR to SAC: replay of all past data, with policy and values cloned.

    L = L_SAC(D_new and D_old) + lambda_pi E_old KL[pi_old, pi] + lambda_Q E_old 1/2 (Q - Q_old)^2

CLEAR itself is an actor-critic method with V-trace. The parts that carry over to SAC are the
mixture of half new and half replayed data and the two cloning terms, whose targets are the policy
and values at the end of a task. The KL has CLEAR's direction, KL(old || new), which penalises a
policy that drops actions of the old one.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from recall.methods._cloning import Cloning
from recall.nets import gaussian
from recall.nets.arrays import Array
from recall.nets.gaussian import Gaussian


@dataclass(frozen=True)
class Clear(Cloning):
    """Perfect memory with cloning."""

    name: ClassVar[str] = "clear"
    label: ClassVar[str] = "CLEAR"
    summary: ClassVar[str] = "Half replay of everything, with old policies and values cloned."
    reference: ClassVar[str] = "Rolnick et al., Experience Replay for Continual Learning, 2019"
    colour: ClassVar[str] = "#f40db0"

    memory_per_task: int | None = None
    weight: float = 0.01
    critic_weight: float = 0.005

    def policy_divergence(self, new: Gaussian, old: Gaussian) -> Array:
        """Return KL(old || new), summed over the action dimensions."""
        return jnp.sum(gaussian.kl(old, new), axis=-1)
