"""A-GEM: averaged gradient episodic memory.

Let g be the gradient on new data and r the gradient on rows of old tasks, both of actor and
critics together. The update uses

    g' = g                          if g . r >= 0
    g' = g - (g . r / r . r) r      otherwise,

which is the gradient nearest to g that does not raise the memory's loss to first order.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from recall.learn.method import Gradients, GradientsFor, Method, Needs, Sampling
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import summed_trunk
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


@dataclass(frozen=True)
class AGem(Method):
    """Gradient projection against a small memory."""

    name: ClassVar[str] = "agem"
    label: ClassVar[str] = "A-GEM"
    summary: ClassVar[str] = "Projects gradients so that an episodic memory's loss does not rise."
    reference: ClassVar[str] = "Chaudhry et al., Efficient Lifelong Learning with A-GEM, 2019"
    colour: ClassVar[str] = "#717949"

    needs: ClassVar[Needs] = {
        "sampling": (("balanced",), "it projects gradients against the old rows of every batch")
    }

    sampling: Sampling = "balanced"
    rehearse: bool = False
    """Whether SAC also trains on rows of old tasks. By default they only constrain the gradient."""
    memory_per_task: int | None = 10_000

    def edit_gradients(
        self, method_state: Any, gradients: Gradients, batch: Batch, gradients_for: GradientsFor
    ) -> tuple[Gradients, Metrics]:
        """Project the gradients of actor and critics as one vector.

        The temperature's gradient stays as it is: it belongs to the new task alone.
        """
        if batch.stored is None:  # in the first task there is no memory
            return gradients, {"violation": jnp.zeros(())}
        old = 1.0 - batch.new
        # The trunk's gradients of old and new rows are computed separately: sum them first.
        new, reference = (
            {"actor": summed_trunk(each.actor), "critic": summed_trunk(each.critic)}
            for each in (gradients, gradients_for(old / jnp.sum(old)))
        )
        pair, violation = project(new, reference)
        return gradients._replace(**pair), {"violation": violation}
