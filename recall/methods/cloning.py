"""Cloning: what ClonEx and CLEAR share. No method by itself.

On rows of old tasks the current networks are held to what those of the time said:

    L_clone = lambda_pi E_old KL(pi, pi_old) + lambda_Q E_old 1/2 sum over critics (Q - Q_old)^2

The policy's old outputs are stored with the rows. The critics' are computed from copies of the
critics, one for each old task: 1.6 MB a task at the paper's sizes, and none where lambda_Q is 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.errors import BadValueError
from recall.methods.base import Method, Sampling
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Rows, head_of
from recall.types import Array, Batch, Forward, LearnerState, Metrics, Model, Params


class OldCritics(NamedTuple):
    """Both critics as each task left them, [task, critic, ...]: shared part, the task's head."""

    trunk: Array
    head: Params


def mean_of_old(batch: Batch, values: Array) -> Array:
    """The mean of values [batch] over the rows of old tasks; 0 where there are none."""
    old = 1.0 - batch.new
    # New rows hold nothing stored: keep what they compute out of value and gradient.
    return jnp.sum(jnp.where(old > 0, values, 0.0)) / jnp.maximum(jnp.sum(old), 1.0)


def old_values(model: Model, critics: OldCritics, batch: Batch, rows: Rows) -> Array:
    """[critic, old rows] what each old row's critics said of it when its task ended."""
    tasks = jnp.asarray(batch.heads)[:-1]

    def of_group(trunk: Array, head: Params, observation: Array, action: Array) -> Array:
        critic = {"trunk": trunk, "heads": jax.tree.map(lambda leaf: leaf[None], head)}
        return model.q(critic, observation, action, Rows(rows.group_size))

    def grouped(column: Array) -> Array:
        return column[rows.new :].reshape(rows.groups, rows.group_size, -1)

    trunks, heads = critics.trunk[tasks], head_of(critics.head, tasks)
    values = jax.vmap(of_group, out_axes=1)(
        trunks, heads, grouped(batch.observation), grouped(batch.action)
    )
    return values.reshape(values.shape[0], -1)


@dataclass(frozen=True)
class Cloning(Method):
    """Old and new halves, and the cloning loss on the old one."""

    sampling: Sampling = "halves"
    weight: float = 1.0
    """Lambda of the policy."""
    critic_weight: float = 0.0
    """Lambda of the critics; 0 leaves them free."""

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        super().__post_init__()
        if self.weight < 0 or self.critic_weight < 0:
            raise BadValueError(
                f"weight {self.weight} and critic_weight {self.critic_weight}: a negative one "
                "would reward forgetting"
            )
        if self.sampling != "halves":
            raise BadValueError(f"sampling {self.sampling!r}: what is cloned is the old half")
        if self.critic_weight and self.normalise_targets:
            raise BadValueError(
                f"critic_weight {self.critic_weight} with normalise_targets=True: the scale of old "
                "values has moved since; clone values without PopArt"
            )

    def policy_divergence(self, new: Gaussian, old: Gaussian) -> Array:
        """[batch] the KL of policies [batch, act]."""
        raise NotImplementedError

    def init(self, model: Model, state: LearnerState) -> OldCritics | tuple[()]:
        """Room for the critics of every task, where they are cloned."""
        if not self.critic_weight:
            return ()
        critic = state.trainable.critic
        heads = jax.tree.map(jnp.zeros_like, critic["heads"])
        tasks = jax.tree.leaves(heads)[0].shape[0]
        return OldCritics(jnp.zeros((tasks, *critic["trunk"].shape)), heads)

    def actor_loss(
        self, model: Model, method: Any, actor: Params, forward: Forward
    ) -> tuple[Array | float, Metrics]:
        """lambda_pi E_old KL."""
        stored = forward.batch.stored
        if not self.weight or stored is None:
            return 0.0, {}
        loss = mean_of_old(forward.batch, self.policy_divergence(forward.policy, stored.policy))
        return self.weight * loss, {"loss_clone_pi": loss}

    def critic_loss(
        self, model: Model, method: Any, critic: Params, forward: Forward
    ) -> tuple[Array | float, Metrics]:
        """lambda_Q E_old 1/2 sum (Q - Q_old)^2."""
        rows = forward.batch.rows
        if not self.critic_weight or not isinstance(rows, Rows) or not rows.groups:
            return 0.0, {}
        distance = forward.q[:, rows.new :] - old_values(model, method, forward.batch, rows)
        loss = jnp.mean(0.5 * jnp.sum(distance**2, axis=0))
        return self.critic_weight * loss, {"loss_clone_q": loss}

    def on_task_end(
        self,
        model: Model,
        state: LearnerState,
        task: Array,
        draw: Callable[[int, Array], Batch],
        key: Array,
    ) -> LearnerState:
        """Copy the critics."""
        if not self.critic_weight:
            return state
        critics, critic = state.method, state.trainable.critic
        copied = OldCritics(
            critics.trunk.at[task].set(critic["trunk"]),
            jax.tree.map(
                lambda old, now: old.at[task].set(now[task]), critics.head, critic["heads"]
            ),
        )
        return state._replace(method=copied)
