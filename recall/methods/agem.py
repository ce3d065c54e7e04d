"""A-GEM: averaged gradient episodic memory, no step that the memory would object to.

With g the gradient on new data and r the one on rows of old tasks, actor and critics together,

    g' = g                          if g . r >= 0
    g' = g - (g . r / r . r) r      otherwise,

the nearest gradient that does not raise the memory's loss to first order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from recall.errors import BadValueError
from recall.learn.method import Method, Sampling
from recall.learn.state import Gradients
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import summed_trunk
from recall.replay.batch import Batch


def inner(left: Params, right: Params) -> Array:
    """The inner product of two trees."""
    products = jax.tree.map(lambda a, b: jnp.sum(a * b), left, right)
    total: Array = sum(jax.tree.leaves(products), start=jnp.zeros(()))
    return total


def project(new: Params, reference: Params) -> tuple[Params, Array]:
    """`new` without its component against `reference`, and whether it had one."""
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
    colour: ClassVar[str] = "#ddcc77"

    sampling: Sampling = "balanced"
    rehearse: bool = False
    """The memory only vetoes; its rows are not learnt from."""
    memory_per_task: int | None = 10_000

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        super().__post_init__()
        if self.sampling != "balanced":
            raise BadValueError(
                f"agem with sampling {self.sampling!r}: its reference is the old half of 'balanced'"
            )

    def edit_gradients(
        self,
        method_state: Any,
        gradients: Gradients,
        batch: Batch,
        gradients_for: Callable[[Array], Gradients],
    ) -> tuple[Gradients, Metrics]:
        """Project actor and critics as one vector; the temperature is the new task's alone."""
        if batch.stored is None:  # the first task: nothing to violate
            return gradients, {"violation": jnp.zeros(())}
        old = 1.0 - batch.new
        # The two come from different rows, whose trunks are differentiated apart.
        new, reference = (
            {"actor": summed_trunk(each.actor), "critic": summed_trunk(each.critic)}
            for each in (gradients, gradients_for(old / jnp.sum(old)))
        )
        pair, violation = project(new, reference)
        return gradients._replace(**pair), {"violation": violation}
