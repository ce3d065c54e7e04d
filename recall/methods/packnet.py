"""PackNet: each task owns a share of every shared kernel; pruned weights pass to the next task.

While task k trains, it owns all weights that no earlier task kept. At its end the smallest of
them are pruned. With n weights owned and m tasks to come,

    kept = n - floor(n m / (m + 1)),

which is an equal share for every task. The kept weights are retrained without the pruned ones and
then frozen. Task k acts with the weights of tasks 0 to k, so later tasks cannot affect it: nothing
is forgotten, but each new task has fewer weights to train.

Only the actor's trunk is packed. Its biases and LayerNorm freeze after the first task. Critics and
temperature continue to train during the retraining, as in the reference.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Draw
from recall.methods._owned import Owned
from recall.nets.arrays import Array, Params

FROZEN = -1


class Owners(NamedTuple):
    """Owner of each parameter of the actor's trunk [size]: a task, or FROZEN (all tasks use it)."""

    owners: Array


def layout(agent: Agent) -> list[tuple[bool, int, int]]:
    """Return (is a kernel, start, end) for every array in the actor's flat trunk."""
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
    """Return a mask [n] of the weights of a kernel that `task` releases.

    These are its smallest weights, all but an equal share.
    """
    mine = owners == task
    # Weights of other tasks rank last, so the first `pruned` ranks are this task's smallest.
    order = jnp.argsort(jnp.where(mine, jnp.abs(weights), jnp.inf))
    rank = jnp.zeros_like(order).at[order].set(jnp.arange(order.shape[0]))
    pruned = jnp.sum(mine) * tasks_left // (tasks_left + 1)
    return rank < pruned


@dataclass(frozen=True)
class PackNet(Owned):
    """Pruning, retraining and freezing of a share of the actor's trunk per task."""

    name: ClassVar[str] = "packnet"
    label: ClassVar[str] = "PackNet"
    summary: ClassVar[str] = "Gives each task an equal share of every kernel and freezes it."
    reference: ClassVar[str] = "Mallya and Lazebnik, PackNet, 2018"
    colour: ClassVar[str] = "#09503f"

    clip_norm: float | None = 0.1
    retraining_updates: int = 100_000

    def init(self, agent: Agent, state: LearnerState) -> Owners:
        """Return owners that assign every parameter to the first task."""
        return Owners(jnp.zeros(state.trainable.actor["trunk"].shape, jnp.int32))

    def actor_for_task(self, method_state: Any, actor: Params, task: Array) -> Params:
        """Return an actor with the weights of tasks 0 to `task`, and zeros elsewhere."""
        trunk = jnp.where(method_state.owners <= task, actor["trunk"], 0.0)
        return {"trunk": trunk, "heads": actor["heads"]}

    def on_task_end(
        self, agent: Agent, state: LearnerState, task: Array, draw: Draw, key: Array
    ) -> LearnerState:
        """Prune every kernel and freeze everything else. The last task prunes nothing.

        Retraining continues from the actor that is evaluated, without the pruned weights.
        """
        actor, owners = state.evaluated_actor, state.method_state.owners
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
        averaged = state.trainable.averaged and jax.tree.map(jnp.copy, packed)
        return state._replace(
            trainable=state.trainable._replace(actor=packed, averaged=averaged),
            method_state=Owners(jnp.concatenate(owners_after)),
        )
