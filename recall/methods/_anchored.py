"""Quadratic penalty on weight changes: the common base of EWC, L2 and MAS, not a method itself.

The penalty pulls the shared parameters theta towards their values at the end of the last task,
each in proportion to its importance for the tasks so far:

    L_anchor = lambda sum_i W_i (theta_i - theta*_i)^2,      W = sum over past tasks of w_task

The three methods differ only in the importance w. Heads belong to their tasks and are not
penalised. There is one anchor theta*, that of the latest task, instead of one per task: the
importance accumulates over tasks, while the anchor is replaced.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Draw, Method
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.gaussian import Gaussian
from recall.nets.heads import BatchLayout, take_heads
from recall.replay.batch import Batch
from recall.settings.checked import Count, NotNegative
from recall.settings.scalars import SCALAR, applies

# Number of rows whose Jacobians are held in memory at once; at the paper's sizes, one takes 6 MB.
_ROWS_AT_ONCE = 8


class Anchor(NamedTuple):
    """Anchor of one network, each array [size], or [critic, size] for the two critics."""

    trunk: Array
    importance: Array


class Anchors(NamedTuple):
    """State of the method. `critic` is None where the critics are not penalised."""

    actor: Anchor
    critic: Anchor | None


def penalty(anchor: Anchor, params: Params) -> Array:
    """Return sum_i W_i (theta_i - theta*_i)^2."""
    return jnp.sum(anchor.importance * (params["trunk"] - anchor.trunk) ** 2)


def mean_of_rows(function: Callable[..., Array], *columns: Array) -> Array:
    """Return the mean over rows of `function(row of each column)`, a few rows at a time."""
    size = columns[0].shape[0]
    some = math.gcd(size, _ROWS_AT_ONCE)
    blocks = tuple(column.reshape(-1, some, *column.shape[1:]) for column in columns)
    shape = jax.eval_shape(function, *(column[0] for column in columns))

    def add(total: Array, block: tuple[Array, ...]) -> tuple[Array, None]:
        return total + jnp.sum(jax.vmap(function)(*block), axis=0), None

    total, _ = jax.lax.scan(add, jnp.zeros(shape.shape, shape.dtype), blocks)
    return total / size


@dataclass(frozen=True)
class Anchored(Method):
    """Method with the quadratic penalty; subclasses define the importance of each parameter."""

    weight: Annotated[NotNegative, SCALAR] = 1.0
    """Weight (lambda) of the penalty on the actor."""
    critic_weight: Annotated[NotNegative, SCALAR] = 0.0
    """Weight (lambda) of the penalty on the critics; 0 applies none."""
    importance_batches: Count = 10
    """Number of batches, at the end of a task, over which importance is averaged."""
    importance_batch_size: Count = 256
    """Number of states in each of these batches."""

    def actor_importance(self, agent: Agent, actor: Params, task: Array, batch: Batch) -> Array:
        """Return the importance of the actor's shared parameters [size], a batch mean."""
        raise NotImplementedError

    def critic_importance(self, agent: Agent, critic: Params, task: Array, batch: Batch) -> Array:
        """Return the importance of the critics' shared parameters [critic, size]."""
        raise NotImplementedError

    def init(self, agent: Agent, state: LearnerState) -> Anchors:
        """Return anchors with zero importance, so that the first task is plain SAC."""

        def none_yet(params: Params) -> Anchor:
            return Anchor(jnp.copy(params["trunk"]), jnp.zeros_like(params["trunk"]))

        critic = none_yet(state.trainable.critic) if applies(self.critic_weight) else None
        return Anchors(none_yet(state.trainable.actor), critic)

    def extra_actor_loss(
        self, agent: Agent, method_state: Any, actor: Params, batch: Batch, policy: Gaussian
    ) -> tuple[Array | float, Metrics]:
        """Return the weighted L_anchor of the actor."""
        loss = penalty(method_state.actor, actor)
        return self.weight * loss, {"loss_anchor_pi": loss}

    def extra_critic_loss(
        self, agent: Agent, method_state: Any, critic: Params, batch: Batch, q: Array
    ) -> tuple[Array | float, Metrics]:
        """Return the weighted L_anchor of the critics."""
        if method_state.critic is None:
            return 0.0, {}
        loss = penalty(method_state.critic, critic)
        return self.critic_weight * loss, {"loss_anchor_q": loss}

    def on_task_end(
        self, agent: Agent, state: LearnerState, task: Array, draw: Draw, key: Array
    ) -> LearnerState:
        """Add the task's importance and move the anchor to the parameters that are evaluated."""
        actor, critic = state.evaluated_actor, state.trainable.critic

        def of_batch(key: Array) -> tuple[Array, Array | None]:
            batch = draw(self.importance_batch_size, key)
            of_actor = self.actor_importance(agent, actor, task, batch)
            if not applies(self.critic_weight):
                return of_actor, None
            return of_actor, self.critic_importance(agent, critic, task, batch)

        batches = jax.lax.map(of_batch, jax.random.split(key, self.importance_batches))
        actor_mean, critic_mean = jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), batches)
        anchors: Anchors = state.method_state
        moved = Anchors(
            Anchor(actor["trunk"], anchors.actor.importance + actor_mean),
            anchors.critic and Anchor(critic["trunk"], anchors.critic.importance + critic_mean),
        )
        return state._replace(method_state=moved)


def trunk_slopes(
    agent: Agent, critic: Params, task: Array, observation: Array, action: Array
) -> tuple[Array, Array]:
    """Return Q of one row [critic] and its gradient in each critic's own trunk [critic, size]."""
    head = take_heads({"heads": critic["heads"]}, task[None])

    def values(trunk: Array) -> tuple[Array, Array]:
        q = agent.q({"trunk": trunk} | head, observation[None], action[None], BatchLayout(1))[:, 0]
        return jnp.sum(q), q  # neither critic depends on the other's trunk

    slopes, q = jax.grad(values, has_aux=True)(critic["trunk"])
    return q, slopes
