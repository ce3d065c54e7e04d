"""PackNet: a share of every shared kernel for each task, the rest zeroed and handed on.

While task k trains, it owns all weights that no earlier task kept. At its end the smallest are
pruned, so that with n weights in hand and m tasks to come

    kept = n - floor(n m / (m + 1)),

an equal share for everyone; the kept ones are retrained without the others, then frozen. Task k
acts with the weights of tasks 0 to k, so what later tasks do with the rest cannot reach it:
nothing is forgotten, at the price of a smaller network for each newcomer.

Only the actor's trunk is packed. Its biases and LayerNorm freeze after the first task; critics
and temperature train on through the retraining as in the reference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from recall.errors import BadValueError
from recall.learn.agent import Agent
from recall.learn.method import Method
from recall.learn.state import Gradients, LearnerState
from recall.nets.arrays import Array, Metrics, Params
from recall.replay.batch import Batch

FROZEN = -1


class Owners(NamedTuple):
    """[size] the task that each number of the actor's trunk belongs to; FROZEN serves all."""

    trunk: Array


def layout(agent: Agent) -> list[tuple[bool, int, int]]:
    """(whether it is a kernel, start, end) of every array in the actor's flat trunk."""
    network = agent.actor
    size = jax.eval_shape(network.init, jax.random.PRNGKey(0))["trunk"]
    tree = jax.eval_shape(network.trunk_tree, size)
    parts, start = [], 0
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        kernel = getattr(path[-1], "key", None) == "kernel"
        parts.append((kernel, start, start + leaf.size))
        start += leaf.size
    return parts


def release(weights: Array, owners: Array, task: Array, tasks_left: Array) -> Array:
    """[n] which of a kernel's weights `task` gives up: its smallest, all but an equal share."""
    mine = owners == task
    # Others' weights rank behind all of ours, so the first `pruned` ranks are our smallest.
    order = jnp.argsort(jnp.where(mine, jnp.abs(weights), jnp.inf))
    rank = jnp.zeros_like(order).at[order].set(jnp.arange(order.shape[0]))
    pruned = jnp.sum(mine) * tasks_left // (tasks_left + 1)
    return rank < pruned


@dataclass(frozen=True)
class PackNet(Method):
    """Prune, retrain, freeze."""

    name: ClassVar[str] = "packnet"
    label: ClassVar[str] = "PackNet"
    summary: ClassVar[str] = "Gives each task an equal share of every kernel and freezes it."
    reference: ClassVar[str] = "Mallya and Lazebnik, PackNet, 2018"
    colour: ClassVar[str] = "#009e73"

    clip_norm: float | None = 2e-5
    retraining_updates: int = 100_000

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        super().__post_init__()
        if not self.reset_optimiser:
            raise BadValueError(
                "packnet with reset_optimiser=False: old moments would move frozen weights"
            )
        if self.average_actor is not None:
            raise BadValueError(
                f"packnet with average_actor {self.average_actor}: an average would go on moving "
                "towards weights that are frozen"
            )
        if self.sampling != "new" or self.actor_heads == "separate":
            raise BadValueError(
                f"packnet with sampling {self.sampling!r} and {self.actor_heads!r} actor heads: "
                "it packs a shared trunk, one task at a time ('new' and 'shallow')"
            )

    def init(self, agent: Agent, state: LearnerState) -> Owners:
        """Everything belongs to the first task."""
        return Owners(jnp.zeros(state.trainable.actor["trunk"].shape, jnp.int32))

    def actor_for_task(self, method_state: Any, actor: Params, task: Array) -> Params:
        """The weights of tasks 0 to `task`, zeros elsewhere."""
        trunk = jnp.where(method_state.trunk <= task, actor["trunk"], 0.0)
        return {"trunk": trunk, "heads": actor["heads"]}

    def edit_gradients(
        self,
        method_state: Any,
        gradients: Gradients,
        batch: Batch,
        gradients_for: Callable[[Array], Gradients],
    ) -> tuple[Gradients, Metrics]:
        """Only the current task's weights move."""
        mine = method_state.trunk == batch.heads[-1]
        trunk = jnp.where(mine, gradients.actor["trunk"], 0.0)
        share = jnp.mean(mine.astype(trunk.dtype))
        return gradients._replace(actor=gradients.actor | {"trunk": trunk}), {"own_share": share}

    def on_task_end(
        self,
        agent: Agent,
        state: LearnerState,
        task: Array,
        draw: Callable[[int, Array], Batch],
        key: Array,
    ) -> LearnerState:
        """Prune every kernel, freeze everything else. Nothing is pruned for after the last."""
        actor, owners = state.trainable.actor, state.method_state.trunk
        tasks_left = agent.actor.tasks - task - 1
        weights_after, owners_after = [], []
        for kernel, start, end in layout(agent):
            weights, owned = actor["trunk"][start:end], owners[start:end]
            if kernel:
                released = release(weights, owned, task, tasks_left)
                weights_after.append(jnp.where(released, 0.0, weights))
                owners_after.append(jnp.where(released, task + 1, owned))
            else:
                weights_after.append(weights)
                owners_after.append(jnp.full_like(owned, FROZEN))
        packed = actor | {"trunk": jnp.concatenate(weights_after)}
        return state._replace(
            trainable=state.trainable._replace(actor=packed),
            method_state=Owners(jnp.concatenate(owners_after)),
        )
