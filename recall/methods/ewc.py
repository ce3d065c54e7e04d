"""EWC: elastic weight consolidation, with Fisher information as the importance of a weight.

The diagonal Fisher information of a Gaussian policy has a closed form, so no action is sampled.
Per state, summed over the action dimensions j, it is

    F_i = sum_j [(d mean_j / d theta_i)^2 + 2 (d std_j / d theta_i)^2] / std_j^2

for the Gaussian before tanh. A change of variables does not alter Fisher information, so this is
also that of the action. The critics' squared error is the log likelihood of a unit Gaussian, for
which the Fisher information is (d Q / d theta_i)^2.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp

from recall.learn.agent import Agent
from recall.methods._anchored import Anchored, mean_of_rows, trunk_slopes
from recall.nets.arrays import Array, Params
from recall.replay.batch import Batch
from recall.settings.checked import NotNegative
from recall.settings.scalars import SCALAR

# Keeps the information of a collapsed policy finite: log std may fall to -20.
_SMALLEST_VARIANCE = 1e-6


@dataclass(frozen=True)
class Ewc(Anchored):
    """Anchored weights whose importance is the Fisher information."""

    name: ClassVar[str] = "ewc"
    label: ClassVar[str] = "EWC"
    summary: ClassVar[str] = "Pulls shared weights back in proportion to their Fisher information."
    reference: ClassVar[str] = "Kirkpatrick et al., Overcoming Catastrophic Forgetting, 2017"
    colour: ClassVar[str] = "#5a95cf"

    weight: float = 1e4
    importance_floor: Annotated[NotNegative, SCALAR] = 1e-5
    """Lower bound of the Fisher information of each actor parameter, applied per state."""

    def actor_importance(self, agent: Agent, actor: Params, task: Array, batch: Batch) -> Array:
        """Return the mean of F over the batch, with the floor applied per state."""

        def of_state(observation: Array) -> Array:
            def outputs(trunk: Array) -> tuple[Array, Array]:
                policy = agent.policy_of_task(actor | {"trunk": trunk}, observation[None], task)
                mean_and_std = jnp.stack([policy.mean[0], jnp.exp(policy.log_std[0])])
                return mean_and_std, mean_and_std[1]

            slopes, std = jax.jacrev(outputs, has_aux=True)(actor["trunk"])  # [2, act, size]
            per_output = slopes[0] ** 2 + 2.0 * slopes[1] ** 2
            information = jnp.sum(per_output / (std**2 + _SMALLEST_VARIANCE)[:, None], axis=0)
            return jnp.maximum(information, self.importance_floor)

        return mean_of_rows(of_state, batch.observation)

    def critic_importance(self, agent: Agent, critic: Params, task: Array, batch: Batch) -> Array:
        """Return the mean of (d Q / d theta)^2 over the batch."""

        def of_row(observation: Array, action: Array) -> Array:
            return trunk_slopes(agent, critic, task, observation, action)[1] ** 2

        return mean_of_rows(of_row, batch.observation, batch.action)
