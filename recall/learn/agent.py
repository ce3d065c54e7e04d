"""The agent: one run's networks as functions of their parameters, and the state of its learner.

Shapes are named as in recall.nets.arrays. A state holds the heads of all tasks, [task, ...]; during
an update it holds only the heads of the batch, [heads, ...] (recall.learn.turns).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.collect.transition import Columns
from recall.learn import remedies, value_bounds
from recall.learn.method import Method, Sharing
from recall.nets import gaussian, optimiser, popart
from recall.nets.arrays import Array, Params
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Layout
from recall.nets.multihead import MultiHead
from recall.nets.optimiser import Moments
from recall.replay.n_step import NStep
from recall.settings import LearnerSettings
from recall.settings.scalars import SCALAR, applies, scalars, with_scalars


class Trainable(NamedTuple):
    """Networks, temperatures, optimisers and statistics. Per-task leaves are below "heads"."""

    actor: Params
    critic: Params
    target: Params
    log_alpha: Params  # {"heads": [task]}
    actor_moments: Moments
    critic_moments: Moments
    alpha_moments: Moments
    popart: Params  # {"heads": popart.Statistics}
    rewards: Params  # {"heads": value_bounds.RewardRange}
    averaged: Params | None  # the actor's average, if the method keeps one


class LearnerState(NamedTuple):
    """State of one run's learner. Randomness depends on `key` and the update's number alone."""

    trainable: Trainable
    method_state: Any  # the method's own state, a pytree
    key: Array
    failed_at: Array  # number of the first update that met a non-finite number, or -1
    remedy: Any = ()  # the state of the remedy for plasticity, a pytree

    @property
    def evaluated_actor(self) -> Params:
        """Return the actor that is evaluated and distilled: its average, if there is one."""
        averaged = self.trainable.averaged
        return self.trainable.actor if averaged is None else averaged


def shared_layers(sharing: Sharing, layers: int, head_layers: int) -> int:
    """Return how many of a network's hidden layers all tasks share."""
    return {"shallow": layers, "deep": layers - head_layers, "separate": 0}[sharing]


@dataclass(frozen=True)
class Agent:
    """What stays the same in a run's learner: method, settings, shapes.

    For JAX it is a tree, whose leaves are the settings that are scalars (recall.settings.scalars).
    Everything else is part of a compiled program.
    """

    method: Method
    settings: LearnerSettings
    columns: Columns
    tasks: int

    @cached_property
    def parts(self) -> tuple[list[Any], "Agent"]:
        """Return the arguments of compiled programs, and the agent with SCALAR in their places."""
        arguments = {name: value for name, value in scalars(self).items() if applies(value)}
        return list(arguments.values()), with_scalars(self, dict.fromkeys(arguments, SCALAR))

    @property
    def actor(self) -> MultiHead:
        """Return the network from observations to means and log standard deviations."""
        sizes = self.columns
        return self._network(self.method.actor_heads, sizes.observation_size, 2 * sizes.action_size)

    @property
    def critic(self) -> MultiHead:
        """Return the network from observation and action to value; two or more are stacked."""
        sizes = self.columns
        inputs = sizes.observation_size + sizes.action_size
        return self._network(self.method.critic_heads, inputs, self.method.critic_outputs)

    def _network(self, sharing: Sharing, inputs: int, outputs: int) -> MultiHead:
        network = self.settings.network
        return MultiHead(
            inputs,
            outputs,
            self.tasks,
            network.hidden,
            shared_layers(sharing, len(network.hidden), network.head_layers),
            network.activation,
            self.settings.sac.precision == "bfloat16",
        )

    @property
    def n_step(self) -> NStep:
        """Return how far targets look ahead before they bootstrap."""
        return NStep(self.settings.sac.n_step, self.settings.sac.discount)

    @property
    def target_entropy(self) -> Array:
        """Return the entropy that the temperature steers the policy to."""
        return gaussian.target_entropy(
            self.columns.action_size, self.settings.sac.target_output_std
        )

    @property
    def initial_log_alpha(self) -> float:
        """Return the initial log temperature of every task.

        A high one would push normalised values, and a copied policy, to maximum entropy.
        """
        chosen = self.settings.sac.initial_log_alpha
        if chosen is not None:
            return chosen
        low = self.method.normalise_targets or self.method.best_return
        return -5.0 if low else 1.0

    def policy(self, actor: Params, observation: Array, layout: Layout) -> Gaussian:
        """Return the policy of each row of observation [batch, obs], from the row's head."""
        return gaussian.from_outputs(self.actor.apply(actor, observation, layout))

    def policy_of_task(self, actor: Params, observation: Array, task: Array | int) -> Gaussian:
        """Return the policy of one task for every row of observation [batch, obs]."""
        return gaussian.from_outputs(self.actor.apply_head(actor, observation, task))

    def q(self, critic: Params, observation: Array, action: Array, layout: Layout) -> Array:
        """Return the values [critic, batch] of all critics; with PopArt they are normalised."""
        return self.method.values(self.critic_outputs(critic, observation, action, layout))

    def critic_outputs(
        self, critic: Params, observation: Array, action: Array, layout: Layout
    ) -> Array:
        """Return the outputs [critic, batch, outputs] of all critics."""
        x = jnp.concatenate([observation, action], axis=-1)
        return self.critic.apply_several(critic, x, layout)

    def scale(self, statistics: popart.Statistics) -> popart.Scale:
        """Return the scale of each head's values; mean 0 and sigma 1 where none is normalised."""
        if not self.method.normalise_targets:  # bounds that exclude 1 must not scale either
            return popart.Scale(jnp.zeros_like(statistics.mean), jnp.ones_like(statistics.mean))
        return popart.scale_of(statistics, self.settings.popart)

    def value_bounds(self, rewards: Any, alpha: Array, lag: float) -> tuple[Array, Array]:
        """Return the lowest and highest value of each head (recall.learn.value_bounds)."""
        return value_bounds.value_bounds(
            rewards,
            self.settings.sac.discount,
            alpha,
            self.columns.action_size,
            self.target_entropy,
            lag,
        )

    def init_critic(self, key: Array) -> Params:
        """Initialise the critics: trunk [critic, size], leaves of heads [task, critic, ...]."""
        critics = jax.vmap(self.critic.init)(jax.random.split(key, self.method.critics))
        heads = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 1), critics["heads"])
        return {"trunk": critics["trunk"], "heads": heads}

    def init_critic_trunks(self, key: Array) -> Array:
        """Return new shared layers of the critics [critic, size]."""
        return jax.vmap(self.critic.init_trunk)(jax.random.split(key, self.method.critics))

    def init(self, seed: Array) -> LearnerState:
        """Return the initial state of the run with this seed."""
        key = jax.random.PRNGKey(seed)
        key_actor, key_critic, key_method, key_run = jax.random.split(key, 4)
        actor = self.method.init_actor(self.actor.init(key_actor), key_method)
        critic = self.init_critic(key_critic)
        log_alpha = {"heads": jnp.full(self.tasks, self.initial_log_alpha, jnp.float32)}
        averages = self.method.average_actor is not None
        trainable = Trainable(
            actor=actor,
            critic=critic,
            target=jax.tree.map(jnp.copy, critic),
            log_alpha=log_alpha,
            actor_moments=optimiser.init(actor),
            critic_moments=optimiser.init(critic),
            alpha_moments=optimiser.init(log_alpha),
            popart={"heads": popart.init(self.tasks)},
            rewards={"heads": value_bounds.init(self.tasks)},
            averaged=jax.tree.map(jnp.copy, actor) if averages else None,
        )
        remedy = remedies.init(self, trainable)
        state = LearnerState(trainable, (), key_run, jnp.asarray(-1, jnp.int32), remedy)
        return state._replace(method_state=self.method.init(self, state))


def _flatten(agent: Agent) -> tuple[list[Any], Agent]:
    return agent.parts  # computed once, because every call of a compiled function asks for it


def _unflatten(constants: Agent, leaves: Iterable[Any]) -> Agent:
    names = [name for name, value in scalars(constants).items() if value is SCALAR]
    values = list(leaves)
    agent = with_scalars(constants, dict(zip(names, values, strict=True)))
    # JAX puts anything in the leaves' places, also False, and expects the same tree again.
    vars(agent)["parts"] = values, constants
    return agent


jax.tree_util.register_pytree_node(Agent, _flatten, _unflatten)
