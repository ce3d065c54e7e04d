"""MAS: memory aware synapses, with the sensitivity of the outputs as importance of a weight.

    w_i = E_s |d (|tanh mean(s)|^2 + |log std(s)|^2) / d theta_i|,    critics: E |d Q^2 / d theta_i|

Unlike Fisher information this needs no likelihood: it measures how much the squared length of the
outputs changes with each weight. The mean is that of an action, as in Continual World.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent
from recall.methods._anchored import Anchored, mean_of_rows, trunk_slopes
from recall.nets.arrays import Array, Params
from recall.replay.batch import Batch


@dataclass(frozen=True)
class Mas(Anchored):
    """Anchored weights whose importance is the gradient of the outputs' squared length."""

    name: ClassVar[str] = "mas"
    label: ClassVar[str] = "MAS"
    summary: ClassVar[str] = "Pulls shared weights back by how strongly the outputs feel them."
    reference: ClassVar[str] = "Aljundi et al., Memory Aware Synapses, 2018"
    colour: ClassVar[str] = "#1794f1"

    weight: float = 1e4

    def actor_importance(self, agent: Agent, actor: Params, task: Array, batch: Batch) -> Array:
        """Return the importance for the squashed mean and the log std together."""

        def of_state(observation: Array) -> Array:
            def length(trunk: Array) -> Array:
                policy = agent.policy_of_task(actor | {"trunk": trunk}, observation[None], task)
                return jnp.sum(jnp.tanh(policy.mean) ** 2) + jnp.sum(policy.log_std**2)

            return jnp.abs(jax.grad(length)(actor["trunk"]))

        return mean_of_rows(of_state, batch.observation)

    def critic_importance(self, agent: Agent, critic: Params, task: Array, batch: Batch) -> Array:
        """Return the importance for each critic's own output."""

        def of_row(observation: Array, action: Array) -> Array:
            q, slopes = trunk_slopes(agent, critic, task, observation, action)
            return jnp.abs(2.0 * q[:, None] * slopes)

        return mean_of_rows(of_row, batch.observation, batch.action)
