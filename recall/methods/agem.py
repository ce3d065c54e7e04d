"""A-GEM: averaged gradient episodic memory.

Let g be the gradient on new data and r the gradient on rows of old tasks, both of actor and
critics together. The update uses

    g' = g                          if g . r >= 0
    g' = g - (g . r / r . r) r      otherwise,

which is the gradient nearest to g that does not raise the memory's loss to first order. Gradients
of old and of new rows come apart in an update, so g and r take one backward pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from recall.learn.method import Gradients, Method, Needs, Sampling
from recall.nets.arrays import Array, Metrics, Params
from recall.replay.batch import Batch


def inner(left: Params, right: Params) -> Array:
    """Return the inner product of two trees."""
    products = jax.tree.map(lambda a, b: jnp.sum(a * b), left, right)
    total: Array = sum(jax.tree.leaves(products), start=jnp.zeros(()))
    return total


def project(new: Params, reference: Params) -> tuple[Params, Array]:
    """Return `new` without its component against `reference`, and 1 if it had one, else 0."""
    product = inner(new, reference)
    scale = jnp.minimum(product, 0.0) / jnp.maximum(inner(reference, reference), 1e-30)
    projected = jax.tree.map(lambda a, b: a - scale * b, new, reference)
    return projected, (product < 0).astype(jnp.float32)


def apart(gradient: Params) -> tuple[Params, Params]:
    """Return the gradients of new and of old rows, each of the trunk and of all heads."""
    trunk, heads = gradient["trunk"], gradient["heads"]
    zeros = jax.tree.map(jnp.zeros_like, heads)
    return (
        {"trunk": trunk.new, "heads": heads._replace(old=zeros.old)},
        {"trunk": trunk.old, "heads": heads._replace(new=zeros.new)},
    )


@dataclass(frozen=True)
class AGem(Method):
    """Gradient projection against a small memory."""

    name: ClassVar[str] = "agem"
    label: ClassVar[str] = "A-GEM"
    summary: ClassVar[str] = "Projects gradients so that an episodic memory's loss does not rise."
    reference: ClassVar[str] = "Chaudhry et al., Efficient Lifelong Learning with A-GEM, 2019"
    colour: ClassVar[str] = "#717949"

    needs: ClassVar[Needs] = {
        "sampling": (("balanced",), "it projects gradients against the old rows of every batch"),
        "rehearse": ((True,), "the gradient of the SAC losses of old rows is the reference"),
        "old_weight": (("equal",), "the length of the reference does not matter"),
    }
    refused_remedies: ClassVar[Mapping[str, str]] = {
        "c_chain": "the gradient of the churn of old rows would be part of the reference"
    }

    sampling: Sampling = "balanced"
    memory_per_task: int | None = 10_000

    def row_weights(self, batch: Batch, old_tasks: Array) -> Array:
        """Return weights that sum to 1 over the new rows, and over the old ones."""
        old = 1.0 - batch.new
        return batch.new / jnp.sum(batch.new) + old / jnp.maximum(jnp.sum(old), 1.0)

    def edit_gradients(
        self, method_state: Any, gradients: Gradients, batch: Batch
    ) -> tuple[Gradients, Metrics]:
        """Project the gradients of actor and critics as one vector.

        The temperature's gradient stays as it is: it belongs to the new task alone.
        """
        if batch.stored is None:  # in the first task there is no memory
            return gradients, {"violation": jnp.zeros(())}
        (actor_new, actor_old), (critic_new, critic_old) = map(
            apart, (gradients.actor, gradients.critic)
        )
        (actor, critic), violation = project((actor_new, critic_new), (actor_old, critic_old))
        return gradients._replace(actor=actor, critic=critic), {"violation": violation}
