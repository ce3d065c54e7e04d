"""The agent: one run's networks as functions of their parameters, and its first state."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from recall.collect.transition import Columns
from recall.learn import value_bounds
from recall.learn.method import Method, Sharing
from recall.learn.state import LearnerState, Trainable
from recall.nets import adam, gaussian, popart
from recall.nets.arrays import Array, Params
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Rows
from recall.nets.multihead import MultiHead
from recall.replay.n_step import NStep
from recall.settings import LearnerSettings


def shared_layers(sharing: Sharing, layers: int, head_layers: int) -> int:
    """Return how many of a network's hidden layers all tasks share."""
    return {"shallow": layers, "deep": layers - head_layers, "separate": 0}[sharing]


@dataclass(frozen=True)
class Agent:
    """The constant part of a run's learner: method, settings, shapes. Hashable."""

    method: Method
    settings: LearnerSettings
    columns: Columns
    tasks: int

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
        every = self.settings.network.critic_norm == "every"
        outputs = self.method.critic_outputs
        return self._network(self.method.critic_heads, inputs, outputs, every)

    def _network(
        self, sharing: Sharing, inputs: int, outputs: int, normalise_every: bool = False
    ) -> MultiHead:
        network = self.settings.network
        shared = shared_layers(sharing, len(network.hidden), network.head_layers)
        return MultiHead(
            inputs,
            outputs,
            self.tasks,
            network.hidden,
            shared,
            network.activation,
            self.settings.sac.precision == "bfloat16",
            normalise_every,
        )

    @property
    def n_step(self) -> NStep:
        """Return how far targets look ahead before they bootstrap."""
        return NStep(self.settings.sac.n_step, self.settings.sac.discount)

    @property
    def target_entropy(self) -> float:
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

    def policy(self, actor: Params, observation: Array, rows: Rows | Array) -> Gaussian:
        """Return the policy of each row [batch, obs], from the row's head."""
        return gaussian.from_outputs(self.actor.apply(actor, observation, rows))

    def policy_of_task(self, actor: Params, observation: Array, task: Array | int) -> Gaussian:
        """Return the policy of one task for every row [batch, obs]."""
        return gaussian.from_outputs(self.actor.apply_head(actor, observation, task))

    def q(self, critic: Params, observation: Array, action: Array, rows: Rows | Array) -> Array:
        """Return the values [critic, batch] of all critics; with PopArt they are normalised."""
        return self.method.values(self.critic_outputs(critic, observation, action, rows))

    def critic_outputs(
        self, critic: Params, observation: Array, action: Array, rows: Rows | Array
    ) -> Array:
        """Return the outputs [critic, batch, outputs] of all critics."""
        x = jnp.concatenate([observation, action], axis=-1)
        return self.critic.apply_several(critic, x, rows)

    def init_critic(self, key: Array) -> Params:
        """Initialise the critics: trunk [critic, size], leaves of heads [task, critic, ...]."""
        critics = jax.vmap(self.critic.init)(jax.random.split(key, self.method.critics))
        heads = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 1), critics["heads"])
        return {"trunk": critics["trunk"], "heads": heads}

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
            actor_moments=adam.init(actor),
            critic_moments=adam.init(critic),
            alpha_moments=adam.init(log_alpha),
            popart={"heads": popart.init(self.tasks)},
            rewards={"heads": value_bounds.init(self.tasks)},
            averaged=jax.tree.map(jnp.copy, actor) if averages else None,
        )
        state = LearnerState(trainable, (), key_run, jnp.asarray(-1, jnp.int32))
        return state._replace(method_state=self.method.init(self, state))
