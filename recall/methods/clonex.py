"""ClonEx: behavioural cloning from a small memory, with a best-return start.

    L = L_SAC(D_new) + lambda E_{s in D_old} KL[pi(.|s), pi_old(.|s)]

Old rows are used for cloning only; they take no part in SAC's losses. A new task starts from the
old head that earns the highest return on it.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from recall.methods._cloning import Cloning
from recall.nets import gaussian
from recall.nets.arrays import Array
from recall.nets.gaussian import Gaussian


@dataclass(frozen=True)
class ClonEx(Cloning):
    """Cloning from 10,000 states per task, with the policy's outputs at the end of that task."""

    name: ClassVar[str] = "clonex"
    label: ClassVar[str] = "ClonEx"
    summary: ClassVar[str] = "Clones old policies on a small memory; best-return start."
    reference: ClassVar[str] = "Wolczyk et al., Disentangling Transfer, 2022 (ClonEx-SAC)"
    colour: ClassVar[str] = "#e27218"

    rehearse: bool = False
    memory_per_task: int | None = 10_000
    clip_norm: float | None = 0.1
    best_return: bool = True
    weight: float = 100.0

    def policy_divergence(self, new: Gaussian, old: Gaussian) -> Array:
        """Return KL(new || old), averaged over action dimensions; lambda was tuned for the mean."""
        return jnp.mean(gaussian.kl(new, old), axis=-1)
