"""Weights owned by tasks: the common base of PackNet and SSDE, not a method itself.

Every weight of the actor's shared layers has an owner, the one task that trains it. Once that task
has ended, the weight is frozen, so that nothing is forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Gradients, Method, Needs
from recall.nets.arrays import Array, Metrics
from recall.replay.batch import Batch


@dataclass(frozen=True)
class Owned(Method):
    """Method whose state has `owners`: the task [size] that trains each weight of the trunk."""

    refused_remedies: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("shrink_and_perturb", "redo", "continual_backprop"),
        "it would change weights that earlier tasks use",
    )
    needs: ClassVar[Needs] = {
        "reset_optimiser": ((True,), "Adam's old moments would move frozen weights"),
        "sampling": (("new",), "it trains the weights of one task at a time"),
        "actor_heads": (("shallow", "deep"), "it divides the layers that tasks share"),
    }

    def edit_gradients(
        self, method_state: Any, gradients: Gradients, batch: Batch
    ) -> tuple[Gradients, Metrics]:
        """Zero the gradients of all trunk weights that the current task does not own."""
        mine = method_state.owners == batch.heads[-1]
        trunk = jnp.where(mine, gradients.actor["trunk"], 0.0)
        edited = gradients._replace(actor=gradients.actor | {"trunk": trunk})
        return edited, {"own_share": jnp.mean(mine)}

    def on_task_start(self, agent: Agent, state: LearnerState, task: Array) -> LearnerState:
        """Freeze the weights of old tasks as they are evaluated, so that an average rests too."""
        actor, old = state.trainable.actor, state.method_state.owners < task
        trunk = jnp.where(old, state.evaluated_actor["trunk"], actor["trunk"])
        return state._replace(trainable=state.trainable._replace(actor=actor | {"trunk": trunk}))
