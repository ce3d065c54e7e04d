"""Shared layers that begin anew with every task, for methods that keep old skills elsewhere."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from recall.learn.agent import Agent, LearnerState
from recall.nets.arrays import Array

_STARTING = np.uint32(2**32 - 4)  # a branch of the run's random key; recall.learn.fleet has others


def fresh_trunks(agent: Agent, state: LearnerState, task: Array) -> tuple[Array, Array]:
    """Return new shared layers of actor and critics, drawn as at the start of a run.

    The head of a task needs none: no earlier task has trained it.
    """
    key = jax.random.fold_in(jax.random.fold_in(state.key, _STARTING), task)
    of_actor, of_critic = jax.random.split(key)
    return agent.actor.init(of_actor)["trunk"], agent.init_critic(of_critic)["trunk"]


def with_critic(state: LearnerState, trunk: Array, **others: Any) -> LearnerState:
    """Return the state whose critics and target critics have these shared layers."""
    old = state.trainable
    critic, target = old.critic | {"trunk": trunk}, old.target | {"trunk": jnp.copy(trunk)}
    return state._replace(trainable=old._replace(critic=critic, target=target, **others))
