"""RECALL: replay with normalised targets, distillation of old policies and a best-return start.

Half of every batch is replayed. Each head's targets are normalised (PopArt), so that a new
task's small rewards weigh as much as an old task's large ones. On old tasks, the policy is
distilled towards the one stored at the end of that task:

    min  L_Q,norm + L_pi,norm + lambda L_pi,distill
    L_pi,distill = E_{s in D_old} KL[pi(.|s), pi_old(.|s)]

Critics are distilled like policies: on D_old, the targets of L_Q,norm are the critics' values at
the end of the task instead of bootstrapped targets. The paper bootstraps on D_old too. But no new
data are collected for an old task, so the pessimism of the minimum of two critics is never
corrected, and the values sink (docs/learning.md).

Algorithm 1 of the paper, line by line:

    choose the best old head, copy it     recall.training.behaviour, recall.learn.fleet.copy_head
    collect with the policy, append       recall.collect.worker, recall.replay.history
    sample D_new and D_old                recall.replay.buffer.sample_balanced
    normalised targets                    recall.learn.sac.bootstrapped_target,
                                          recall.nets.popart.scale_of_loss
    L_Q,norm, L_pi,norm and L_alpha       recall.learn.sac.critic_loss, actor_loss,
                                          temperature_loss
    L_pi,distill                          Recall.extra_actor_loss
    statistics, outputs preserved         recall.nets.popart.move, preserve_outputs
    target networks                       recall.learn.sac.step
    end of a task: D_new joins D_old      recall.learn.fleet.archive, with policy and values

The paper's ablation has two switches, `normalise_targets` and `distil`. With both off, the method
is plain experience replay with a best-return start.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import jax.numpy as jnp

from recall.learn.agent import Agent
from recall.learn.method import Method, Sampling, Sharing
from recall.methods._cloning import mean_of_old
from recall.nets import gaussian
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.gaussian import Gaussian
from recall.replay.batch import Batch
from recall.settings.checked import NotNegative
from recall.settings.scalars import SCALAR


@dataclass(frozen=True)
class Recall(Method):
    """Replay-enhanced continual RL (RECALL)."""

    name: ClassVar[str] = "recall"
    label: ClassVar[str] = "RECALL"
    summary: ClassVar[str] = (
        "Replay, normalised targets, distilled old policies, best-return start."
    )
    reference: ClassVar[str] = "Zhang et al., Replay-enhanced Continual RL, 2023"
    colour: ClassVar[str] = "#c4161c"

    sampling: Sampling = "balanced"
    memory_per_task: int | None = None
    critic_heads: Sharing = "deep"
    normalise_targets: bool = True
    clip_norm: float | None = 0.1
    best_return: bool = True
    distil: bool = True
    """Whether to distil old policies towards what they were at the end of their task."""
    distil_critics: bool = True
    """Whether to distil critics along with policies, instead of bootstrapping on old tasks."""
    distillation_weight: Annotated[NotNegative, SCALAR] = 10.0
    """Weight of the distillation loss, the paper's lambda."""
    distillation_kl: Literal["mean", "sum"] = "mean"
    """Reduction of the KL over the action dimensions; lambda was tuned for the mean."""

    def old_targets(self, batch: Batch) -> Array | None:
        """Return the stored values of old rows; they are never distilled without the policies."""
        distils = self.distil and self.distil_critics and self.sampling == "balanced"
        return batch.stored.q if distils and batch.stored is not None else None

    def extra_actor_loss(
        self, agent: Agent, method_state: Any, actor: Params, batch: Batch, policy: Gaussian
    ) -> tuple[Array | float, Metrics]:
        """Return lambda L_pi,distill over the old rows."""
        if not self.distil or batch.stored is None:
            return 0.0, {}
        divergence = gaussian.kl(policy, batch.stored.policy)
        reduce = jnp.mean if self.distillation_kl == "mean" else jnp.sum
        loss = mean_of_old(batch, reduce(divergence, axis=-1))
        return self.distillation_weight * loss, {"loss_distill": loss}
