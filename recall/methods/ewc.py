"""EWC: elastic weight consolidation, weights pulled back as hard as the Fisher information says.

The diagonal Fisher of a Gaussian policy has a closed form, so no action is sampled. Per state,
summed over the action's dimensions j,

    F_i = sum_j [(d mean_j / d theta_i)^2 + 2 (d std_j / d theta_i)^2] / std_j^2

of the Gaussian before tanh, which a change of variables leaves the Fisher of the action. For the
critics, whose error is a unit Gaussian's log likelihood, it is (d Q / d theta_i)^2.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from recall.errors import BadValueError
from recall.learn.agent import Agent
from recall.methods._anchored import Anchored, mean_of_rows, trunk_slopes
from recall.nets.arrays import Array, Params
from recall.replay.batch import Batch

# Keeps a collapsed policy's information finite: log std may fall to -20.
_SMALLEST_VARIANCE = 1e-6


@dataclass(frozen=True)
class Ewc(Anchored):
    """Importance is Fisher information."""

    name: ClassVar[str] = "ewc"
    label: ClassVar[str] = "EWC"
    summary: ClassVar[str] = "Pulls shared weights back in proportion to their Fisher information."
    reference: ClassVar[str] = "Kirkpatrick et al., Overcoming Catastrophic Forgetting, 2017"
    colour: ClassVar[str] = "#0072b2"

    weight: float = 1e4
    importance_floor: float = 1e-5
    """Least information that a state has of any parameter of the actor."""

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        super().__post_init__()
        if self.importance_floor < 0:
            raise BadValueError(f"importance_floor {self.importance_floor} is negative")

    def actor_importance(self, agent: Agent, actor: Params, task: Array, batch: Batch) -> Array:
        """F, floored state by state."""

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
        """(d Q / d theta)^2."""

        def of_row(observation: Array, action: Array) -> Array:
            return trunk_slopes(agent, critic, task, observation, action)[1] ** 2

        return mean_of_rows(of_row, batch.observation, batch.action)
