"""CKA-RL: every task's actor is a base plus a learned mixture of what earlier tasks added to it.

Task k acts with the shared layers

    theta_k = theta_base + sum_j softmax(beta_k)_j v_j + v_k

The first task gives theta_base. Each later one trains its own vector v_k, which begins at 0, and
the weights beta_k of the pool of earlier vectors, which are frozen. At its end v_k joins the pool.
If the pool is full, the two most similar vectors (by cosine) become their mean first. What old
tasks act with is kept as it was, so nothing is forgotten. Critics begin anew with every task.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Draw, Method, Needs
from recall.methods._fresh import fresh_trunks, with_critic
from recall.nets.arrays import Array, Params
from recall.nets.heads import joined
from recall.settings.checked import Count

MIXTURE = "mixture"


class Knowledge(NamedTuple):
    """What earlier tasks have left; `size` numbers are the actor's shared layers."""

    base: Array  # [size]
    pool: Array  # [vector, size]
    filled: Array  # [vector] 1 where the pool has a vector, else 0
    composed: Array  # [task, size] the layers that learned tasks act with
    tasks: Array  # how many were learned


def mixed(knowledge: Knowledge, beta: Array) -> Array:
    """Return theta_base + sum_j softmax(beta)_j v_j over the vectors that the pool has."""
    there = knowledge.filled > 0
    highest = jnp.max(beta, where=there, initial=-jnp.inf)
    weights = jnp.where(there, jnp.exp(jnp.where(there, beta - highest, 0.0)), 0.0)
    return knowledge.base + weights / jnp.maximum(jnp.sum(weights), 1e-12) @ knowledge.pool


def add_vector(pool: Array, filled: Array, vector: Array) -> tuple[Array, Array]:
    """Return the pool with one more vector; a full one merges its two most similar ones first."""
    size = len(filled)
    count = jnp.sum(filled).astype(jnp.int32)
    if size == 1:
        return jnp.where(count > 0, 0.5 * (pool + vector), vector[None]), jnp.ones_like(filled)
    unit = pool / jnp.maximum(jnp.linalg.norm(pool, axis=1, keepdims=True), 1e-12)
    upper = jnp.triu(jnp.ones((size, size), bool), 1)
    pair = jnp.argmax(jnp.where(upper, unit @ unit.T, -jnp.inf))
    one, other = pair // size, pair % size
    merged = pool.at[one].set(0.5 * (pool[one] + pool[other]))
    full = count == size
    slot = jnp.where(full, other, count)
    return jnp.where(full, merged, pool).at[slot].set(vector), filled.at[slot].set(1.0)


@dataclass(frozen=True)
class CkaRl(Method):
    """Task vectors over a common base, mixed by learned weights."""

    name: ClassVar[str] = "cka_rl"
    label: ClassVar[str] = "CKA-RL"
    summary: ClassVar[str] = (
        "Adds to a base a mixture of earlier tasks' vectors and one of its own."
    )
    reference: ClassVar[str] = "Hu et al., Continual Knowledge Adaptation for RL, 2025"
    colour: ClassVar[str] = "#0c1840"

    refused_remedies: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("l2_init", "shrink_and_perturb", "redo", "continual_backprop"),
        "its shared layers are the task's own vector, which begins at 0, and not a whole network",
    )

    needs: ClassVar[Needs] = {
        "sampling": (("new", "balanced"), "it trains the vector of one task at a time"),
        "actor_heads": (("shallow", "deep"), "it composes the layers that tasks share"),
    }

    pool_size: Count = 5
    """Largest number of earlier tasks' vectors; the most similar ones are merged beyond it."""

    def init_actor(self, actor: Params, key: Array) -> Params:
        """Add beta of every task. The shared layers are the first task's vector."""
        tasks = jax.tree.leaves(actor["heads"])[0].shape[0]
        return actor | {MIXTURE: {"heads": jnp.zeros((tasks, self.pool_size))}}

    def init(self, agent: Agent, state: LearnerState) -> Knowledge:
        """Return a base of zeros and an empty pool."""
        (size,) = state.trainable.actor["trunk"].shape
        pool, composed = jnp.zeros((self.pool_size, size)), jnp.zeros((agent.tasks, size))
        none = jnp.zeros((), jnp.int32)
        return Knowledge(jnp.zeros(size), pool, jnp.zeros(self.pool_size), composed, none)

    def actor_for_training(self, method_state: Any, actor: Params, key: Array) -> Params:
        """Return the current task's actor; base and pool are constants of the update."""
        rest = mixed(method_state, joined(actor[MIXTURE]["heads"])[-1])
        # The trunk may come twice, for new and for old rows.
        trunk = jax.tree.map(lambda vector: vector + rest, actor["trunk"])
        return {"trunk": trunk, "heads": actor["heads"]}

    def actor_for_task(self, method_state: Any, actor: Params, task: Array) -> Params:
        """Return what a learned task acted with at its end, and the composition for others."""
        now = mixed(method_state, actor[MIXTURE]["heads"][task]) + actor["trunk"]
        trunk = jnp.where(task < method_state.tasks, method_state.composed[task], now)
        return {"trunk": trunk, "heads": actor["heads"]}

    def on_task_start(self, agent: Agent, state: LearnerState, task: Array) -> LearnerState:
        """Begin with new critics."""
        return with_critic(state, fresh_trunks(agent, state, task)[1])

    def on_task_end(
        self, agent: Agent, state: LearnerState, task: Array, draw: Draw, key: Array
    ) -> LearnerState:
        """Keep what the task acts with, and its vector as the base or in the pool; begin at 0."""
        own, actor = state.method_state, state.evaluated_actor
        acting = self.actor_for_task(own, actor, task)["trunk"]
        pool, filled = add_vector(own.pool, own.filled, actor["trunk"])
        first = task == 0
        knowledge = Knowledge(
            base=jnp.where(first, acting, own.base),
            pool=jnp.where(first, own.pool, pool),
            filled=jnp.where(first, own.filled, filled),
            composed=own.composed.at[task].set(acting),
            tasks=jnp.asarray(task + 1, jnp.int32),
        )
        old, nothing = state.trainable, jnp.zeros_like(acting)
        averaged = old.averaged and old.averaged | {"trunk": jnp.copy(nothing)}
        trainable = old._replace(actor=old.actor | {"trunk": nothing}, averaged=averaged)
        return state._replace(trainable=trainable, method_state=knowledge)
