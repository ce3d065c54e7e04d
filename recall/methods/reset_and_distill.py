"""Reset & Distill: a fresh learner for every task, distilled into one network that keeps them all.

The learner's shared layers begin anew with every task, so that nothing of earlier tasks holds it
back (negative transfer). A second actor, the student, learns from it and from stored policies:

    L_student = E_new KL(pi_student, pi_learner) + E_old KL(pi_student, pi_old)

The paper distils after a task; here the student learns beside the learner from the first update on,
and alone with it for `retraining_updates` more after the task. While a task is learned, the learner
acts and is evaluated on it; the student is evaluated on all tasks before, and at the end on all.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Draw, Gradients, Method, Needs, Sampling
from recall.methods._cloning import mean_of_old
from recall.methods._fresh import fresh_trunks, with_critic
from recall.nets import gaussian
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.gaussian import Gaussian
from recall.nets.optimiser import bounded
from recall.replay.batch import Batch
from recall.settings.checked import Positive
from recall.settings.scalars import SCALAR

STUDENT = "student"


class Learned(NamedTuple):
    """How many tasks the student acts on: those whose stage has ended."""

    tasks: Array


@dataclass(frozen=True)
class ResetAndDistill(Method):
    """A learner that is reset with every task, and a student that keeps what it learned."""

    name: ClassVar[str] = "reset_and_distill"
    label: ClassVar[str] = "Reset & Distill"
    summary: ClassVar[str] = "A fresh learner for each task, distilled into one network."
    reference: ClassVar[str] = "Ahn et al., Prevalence of Negative Transfer in Continual RL, 2025"
    colour: ClassVar[str] = "#5460fc"

    needs: ClassVar[Needs] = {
        "sampling": (("balanced",), "old rows teach the student"),
        "rehearse": ((False,), "old rows teach the student alone"),
        "best_return": ((False,), "its learner begins anew"),
        "actor_heads": (("shallow", "deep"), "the method reset has a network for every task"),
        "critic_heads": (("shallow", "deep"), "the method reset has a network for every task"),
    }

    sampling: Sampling = "balanced"
    rehearse: bool = False
    memory_per_task: int | None = 10_000
    retraining_updates: int = 10_000
    student_clip_norm: Annotated[Positive, SCALAR] = 0.1
    """Largest norm of the student's gradient, which does not scale down the learner's. With
    `clip_norm`, both together are bounded besides."""

    def init_actor(self, actor: Params, key: Array) -> Params:
        """Add the student, which begins like the learner."""
        return actor | {STUDENT: jax.tree.map(jnp.copy, actor)}

    def init(self, agent: Agent, state: LearnerState) -> Learned:
        """Return that no task has been learned."""
        return Learned(jnp.zeros((), jnp.int32))

    def actor_for_task(self, method_state: Any, actor: Params, task: Array) -> Params:
        """Return the student on tasks that were learned, and the learner on others."""
        learner = {"trunk": actor["trunk"], "heads": actor["heads"]}
        return jax.tree.map(
            lambda kept, now: jnp.where(task < method_state.tasks, kept, now),
            actor[STUDENT],
            learner,
        )

    def extra_actor_loss(
        self, agent: Agent, method_state: Any, actor: Params, batch: Batch, policy: Gaussian
    ) -> tuple[Array | float, Metrics]:
        """Return L_student. The learner is not moved by it, nor the student by SAC."""
        student = agent.policy(actor[STUDENT], batch.observation, batch.layout)
        teacher = jax.lax.stop_gradient(policy)
        divergence = jnp.sum(gaussian.kl(student, teacher), axis=-1)
        new = jnp.sum(batch.new * divergence) / jnp.sum(batch.new)
        old = jnp.asarray(0.0)
        if batch.stored is not None:
            stored = jnp.sum(gaussian.kl(student, batch.stored.policy), axis=-1)
            old = mean_of_old(batch, stored)
        return new + old, {"loss_distill_new": new, "loss_distill_old": old}

    def edit_gradients(
        self, method_state: Any, gradients: Gradients, batch: Batch
    ) -> tuple[Gradients, Metrics]:
        """Bound the student's gradient."""
        student, norm = bounded(gradients.actor[STUDENT], self.student_clip_norm)
        actor = gradients.actor | {STUDENT: student}
        return gradients._replace(actor=actor), {"grad_norm_student": norm}

    def on_task_start(self, agent: Agent, state: LearnerState, task: Array) -> LearnerState:
        """Begin with new shared layers."""
        of_actor, of_critic = fresh_trunks(agent, state, task)
        old = state.trainable
        averaged = old.averaged and old.averaged | {"trunk": jnp.copy(of_actor)}
        return with_critic(
            state, of_critic, actor=old.actor | {"trunk": of_actor}, averaged=averaged
        )

    def on_task_end(
        self, agent: Agent, state: LearnerState, task: Array, draw: Draw, key: Array
    ) -> LearnerState:
        """Let the student act on the task from now on."""
        return state._replace(method_state=Learned(jnp.asarray(task + 1, jnp.int32)))
