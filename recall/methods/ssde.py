"""SSDE: every task has a sub-network of the actor, part frozen from earlier tasks and part its own.

In every shared layer, task k uses a set of units, drawn from a random code of the task: some that
no earlier task uses, and some that earlier tasks use. Its weights are those between its units,

    theta_k = mask_k (own_k + beta_k frozen_k)

Weights that an earlier task has used too are frozen and carry its skills forward, scaled by one
learned number, beta_k; biases and LayerNorm are not scaled. All others are the task's own. Weights
outside the mask are 0, and LayerNorm sees the task's units alone, so later tasks cannot affect an
earlier one and nothing is forgotten. Critics begin anew with every task.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Gradients, Needs
from recall.methods._fresh import fresh_trunks, with_critic
from recall.methods._owned import Owned
from recall.nets.arrays import Array, Metrics, Params
from recall.replay.batch import Batch
from recall.settings.checked import Share

BETA = "beta"
_CODES = np.uint32(2**32 - 5)  # a branch of the run's random key; recall.learn.fleet has others


class Allocation(NamedTuple):
    """What each task uses. It is decided before the first task, since it needs no data."""

    units: tuple[Array, ...]  # [task, width] of the inputs and each layer: 1 where a task uses one
    owners: Array  # [size] first task that uses a weight of the trunk, or the number of tasks
    task: Array  # the current one


def allocate(code: Array, used: Array, size: int, tasks_left: Array) -> Array:
    """Return the units [width] that a task uses of a layer, `size` of them: 1 or 0.

    The highest numbers of the task's `code` win: first among unused units, which are an equal share
    of those left for `tasks_left` tasks and at most half, then among used ones. The unused fill up.
    """
    fresh = jnp.minimum(jnp.sum(1.0 - used) // tasks_left, size // 2)
    rank = jnp.argsort(jnp.argsort(used - code))  # unused units first
    choice = jnp.where(rank < fresh, 0.0, 2.0 - used)
    return jnp.zeros_like(code).at[jnp.argsort(choice - code)[:size]].set(1.0)


def weights_between(units: tuple[Array, ...]) -> Any:
    """Return the trunk's layers with 1 for weights between units [width] in use, else 0."""
    layers: dict[str, Any] = {
        f"hidden_{layer:02}": {"bias": outputs, "kernel": jnp.outer(inputs, outputs)}
        for layer, (inputs, outputs) in enumerate(pairwise(units))
    }
    return layers | {"norm": {"bias": units[1], "scale": units[1]}}


def norm_apart(layers: Any, units: Array) -> Any:
    """Return layers whose LayerNorm over all outputs equals one over the `units` [width] in use.

    Before it, the outputs in use are shifted to mean 0, so that the zeros of the others leave the
    mean, and scaled so that the variance of all is that of those in use.
    """
    spread = jnp.sqrt(len(units) / jnp.sum(units))

    def centred(weights: Array) -> Array:
        mean = jnp.sum(weights, axis=-1, keepdims=True) / jnp.sum(units)
        return spread * units * (weights - mean)

    norm = layers["norm"] | {"scale": layers["norm"]["scale"] / spread}
    return layers | {"hidden_00": jax.tree.map(centred, layers["hidden_00"]), "norm": norm}


def sub_network(allocation: Allocation, trunk: Array, beta: Array, task: Array) -> Array:
    """Return the trunk [size] that `task` acts with."""
    units = tuple(used[task] for used in allocation.units)
    masks, layers_of = ravel_pytree(weights_between(units))
    layers = layers_of(masks * trunk)
    scales = layers_of(jnp.where(allocation.owners < task, beta, 1.0))
    for name in layers.keys() - {"norm"}:
        layers[name]["kernel"] *= scales[name]["kernel"]
    return ravel_pytree(norm_apart(layers, units[1]))[0]


@dataclass(frozen=True)
class Ssde(Owned):
    """A sub-network per task, of frozen weights and weights of its own."""

    name: ClassVar[str] = "ssde"
    label: ClassVar[str] = "SSDE"
    summary: ClassVar[str] = "Gives each task a sub-network of frozen weights and its own."
    reference: ClassVar[str] = "Zheng et al., Fine-Grained Sparse Network Allocation, 2025"
    colour: ClassVar[str] = "#284058"

    needs: ClassVar[Needs] = Owned.needs | {
        "best_return": ((False,), "the head of an old task reads units of that task")
    }

    active_units: Share = 0.5
    """Share of each shared layer's units that a task uses."""

    def init_actor(self, actor: Params, key: Array) -> Params:
        """Add beta of every task, 1 at first."""
        tasks = jax.tree.leaves(actor["heads"])[0].shape[0]
        return actor | {BETA: {"heads": jnp.ones(tasks)}}

    def init(self, agent: Agent, state: LearnerState) -> Allocation:
        """Return the units of every task, and who owns which weight."""
        network, tasks = agent.actor, agent.tasks
        widths = network.hidden[: network.shared_layers]
        sizes = [max(1, round(self.active_units * width)) for width in widths]
        key = jax.random.fold_in(state.key, _CODES)

        def next_task(
            before: tuple[tuple[Array, ...], Array], task: Array
        ) -> tuple[tuple[tuple[Array, ...], Array], tuple[Array, ...]]:
            used, owners = before
            code = jax.random.uniform(jax.random.fold_in(key, task), (sum(widths),))
            codes = jnp.split(code, np.cumsum(widths)[:-1])
            mine = tuple(
                allocate(*layer, tasks - task) for layer in zip(codes, used, sizes, strict=True)
            )
            units = (jnp.ones(network.inputs), *mine)
            weights = ravel_pytree(weights_between(units))[0]
            owners = jnp.where((weights > 0) & (owners == tasks), task, owners)
            return (tuple(map(jnp.maximum, used, mine)), owners), units

        unused = tuple(jnp.zeros(width) for width in widths)
        nobody = jnp.full(state.trainable.actor["trunk"].shape, tasks, jnp.int32)
        (_, owners), units = jax.lax.scan(next_task, (unused, nobody), jnp.arange(tasks))
        return Allocation(units, owners, jnp.zeros((), jnp.int32))

    def actor_for_training(self, method_state: Any, actor: Params, key: Array) -> Params:
        """Return the current task's sub-network."""
        beta, task = actor[BETA]["heads"][-1], method_state.task
        trunk = sub_network(method_state, actor["trunk"], beta, task)
        return {"trunk": trunk, "heads": actor["heads"]}

    def actor_for_task(self, method_state: Any, actor: Params, task: Array) -> Params:
        """Return a task's sub-network."""
        beta = actor[BETA]["heads"][task]
        trunk = sub_network(method_state, actor["trunk"], beta, task)
        return {"trunk": trunk, "heads": actor["heads"]}

    def edit_gradients(
        self, method_state: Any, gradients: Gradients, batch: Batch
    ) -> tuple[Gradients, Metrics]:
        """Zero the gradients of weights that the task does not own; report what is left."""
        edited, shares = super().edit_gradients(method_state, gradients, batch)
        return edited, shares | {"free_share": jnp.mean(method_state.owners > method_state.task)}

    def on_task_start(self, agent: Agent, state: LearnerState, task: Array) -> LearnerState:
        """Freeze the weights of old tasks as they are evaluated, and begin with new critics."""
        state = super().on_task_start(agent, state, task)
        own = state.method_state._replace(task=jnp.asarray(task, jnp.int32))
        return with_critic(state._replace(method_state=own), fresh_trunks(agent, state, task)[1])
