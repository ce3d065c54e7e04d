"""One update, as in the paper's Algorithm 1.

    sample a batch           method.sample
    targets                  targets: bootstrapped_target
    critics                  critic_loss: method.q_loss
    policy                   actor_loss
    temperature              temperature_loss
    the method's own terms   joint_loss: method.actor_loss, method.critic_loss
    gradients                update: jax.grad of joint_loss, method.edit_gradients
    optimiser step           recall.learn.optimise: clipping, Adam, PopArt, target networks

Only the heads that the batch uses take part: the losses see just those, and only those are
rewritten (recall.learn.optimise). The cost of an update grows with the heads in a batch, at most
`max_old_tasks` and one, and hardly with further tasks.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn import losses, value_bounds
from recall.learn.agent import Agent
from recall.learn.metrics import merged
from recall.learn.optimise import apply_gradients
from recall.learn.state import (
    Forward,
    Gradients,
    LearnerState,
    Networks,
    Trainable,
    TrainedParams,
)
from recall.learn.target_scale import Scale, scale_of, scale_of_loss
from recall.learn.terms import checked_term
from recall.nets import gaussian
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.gaussian import Gaussian
from recall.nets.heads import Rows, new_head, one_trunk, put_heads, take_heads
from recall.replay.batch import Batch, ReplayView
from recall.replay.buffer import Replay
from recall.replay.n_step import Future


class UpdateNoise(NamedTuple):
    """The random numbers of one update."""

    rows: Array  # [batch] bits that choose the batch's rows
    noise: Array  # [2, batch, act] standard normal, for the next action and for the action
    key: Array  # for the method's own draws


def update_noise(agent: Agent, groups: int, key: Array, number: Array) -> UpdateNoise:
    """Return the random numbers of update `number`, which depend on the run's key alone.

    They are drawn for a whole burst before it starts: many small draws inside the loop would take
    longer to compile than everything else there.
    """
    method = agent.method
    old_rows = groups * -(-method.old_batch_size // groups) if groups else 0
    batch = method.batch_size + old_rows
    key_rows, key_noise, key_method = jax.random.split(jax.random.fold_in(key, number), 3)
    noise = jax.random.normal(key_noise, (2, batch, agent.columns.action_size))
    return UpdateNoise(jax.random.bits(key_rows, (batch,)), noise, key_method)


class Pass(NamedTuple):
    """What the losses of one batch share."""

    agent: Agent
    batch: Batch
    networks: Networks
    weights: Array  # [batch] how much each row counts
    head: Array  # [batch] which of the batch's heads a row belongs to
    scale: Scale  # [batch] of the row's targets
    alphas: Array  # [heads] temperatures, not differentiated

    def of_new_rows(self, rows: Rows) -> "Pass":
        """Return the part that bootstrapping the new rows takes: the last head alone."""
        batch = self.batch
        own = batch._replace(
            reward=batch.reward[: rows.new],
            future=Future(*(part[: rows.new] for part in batch.future)),
            heads=batch.heads[-1:],
            rows=Rows(rows.new),
        )
        rewards = jax.tree.map(lambda leaf: leaf[-1:], self.networks.rewards)
        networks = self.networks._replace(target=new_head(self.networks.target), rewards=rewards)
        scale = Scale(*(part[: rows.new] for part in self.scale))
        return self._replace(
            batch=own,
            networks=networks,
            head=own.head_of_row(),
            scale=scale,
            alphas=self.alphas[-1:],
        )


def targets(shared: Pass, actor: Params, noise: Array) -> Array:
    """Return the raw targets [batch].

    Old rows whose critics are distilled have stored values, here the smaller one of each row, so
    only new rows are bootstrapped.
    """
    batch, rows = shared.batch, shared.batch.rows
    if (
        not shared.agent.method.distils_critics
        or batch.stored is None
        or not isinstance(rows, Rows)
    ):
        return bootstrapped_target(shared, actor, noise)
    new = bootstrapped_target(shared.of_new_rows(rows), new_head(actor), noise[: rows.new])
    return jnp.concatenate([new, jnp.min(batch.stored.q, axis=0)[rows.new :]])


def bootstrapped_target(shared: Pass, actor: Params, noise: Array) -> Array:
    """Return Q_tau [batch]: n-step return plus discounted soft value behind it, bounded."""
    agent, batch, head = shared.agent, shared.batch, shared.head
    returns, discount, next_observation = batch.future
    policy = agent.policy(actor, next_observation, batch.rows)
    action, log_pi = gaussian.sample(policy, noise)
    q = agent.q(shared.networks.target, next_observation, action, batch.rows)
    target = losses.target(returns, discount, q, *shared.scale, shared.alphas[head], log_pi)
    if not agent.settings.sac.bound_targets:
        return target
    low, high = bounds_of(
        agent, shared.networks.rewards["heads"], shared.alphas, value_bounds.TARGET_LAG
    )
    return jnp.clip(target, low[head], high[head])


def critic_loss(shared: Pass, critic: Params, target: Array) -> tuple[Array, Array]:
    """Return L_Q,norm and the normalised values [critic, batch] of the stored actions.

    Where the method distils old critics, the targets of old rows are their stored values.
    """
    agent, batch = shared.agent, shared.batch
    outputs = agent.critic_outputs(critic, batch.observation, batch.action, batch.rows)
    scale = scale_of_loss(agent, shared.networks, target, shared.head)
    if agent.method.distils_critics and batch.stored is not None:
        target = jnp.where(batch.new > 0, target, batch.stored.q)
    loss = agent.method.q_loss(outputs, target, *scale, shared.weights)
    return loss, agent.method.values(outputs)


def actor_loss(
    shared: Pass, actor: Params, critic: Params, noise: Array
) -> tuple[Array, Gaussian, Array]:
    """Return L_pi,norm, the policies of all rows and their actions' log probability [batch]."""
    agent, batch = shared.agent, shared.batch
    policy = agent.policy(actor, batch.observation, batch.rows)
    action, log_pi = gaussian.sample(policy, noise)
    q = agent.q(critic, batch.observation, action, batch.rows)
    return losses.policy_loss(q, shared.alphas[shared.head], log_pi, shared.weights), policy, log_pi


def temperature_loss(shared: Pass, log_alpha: Array, log_pi: Array) -> Array:
    """Return L_alpha, over new rows alone unless sampling is uniform."""
    batch, uniform = shared.batch, shared.agent.method.sampling == "uniform"
    # A product with one-hot rows instead of indexing, so that a GPU sums its gradient in a fixed
    # order.
    one_hot = jax.nn.one_hot(shared.head, batch.heads.shape[0])
    weights = shared.weights if uniform else batch.new / batch.new.sum()
    return losses.alpha_loss(one_hot @ log_alpha, log_pi, shared.agent.target_entropy, weights)


def joint_loss(
    agent: Agent,
    trained: TrainedParams,
    networks: Networks,
    method_state: Any,
    batch: Batch,
    weights: Array,
    noise: UpdateNoise,
) -> tuple[Array, tuple[Forward, Metrics]]:
    """Return L_Q,norm + L_pi,norm + L_alpha + the method's terms.

    `trained` is differentiated, `networks` holds the rest. Each term reaches its own parameters
    alone, so one backward pass gives all gradients.
    """
    method, head = agent.method, batch.head_of_row()
    log_alpha = trained.log_alpha["heads"]
    scale = scale_of(agent, networks).of_rows(head)
    alphas = jax.lax.stop_gradient(jnp.exp(log_alpha))
    shared = Pass(agent, batch, networks, weights, head, scale, alphas)
    actor = method.actor_for_training(trained.actor, noise.key)
    frozen_actor, frozen_critic = jax.lax.stop_gradient(
        (one_trunk(actor), one_trunk(trained.critic))
    )
    noise_next, noise_now = noise.noise

    target = targets(shared, frozen_actor, noise_next)
    loss_q, q = critic_loss(shared, trained.critic, target)
    loss_pi, policy, log_pi = actor_loss(shared, actor, frozen_critic, noise_now)
    loss_alpha = temperature_loss(shared, log_alpha, log_pi)

    forward = Forward(batch, policy, q, target)
    # Terms on the parameters themselves belong to the new rows' gradient.
    own_actor, own_critic = one_trunk(trained.actor), one_trunk(trained.critic)
    extra_pi, metrics_pi = checked_term(
        method, "actor_loss", method.actor_loss(agent, method_state, own_actor, forward)
    )
    extra_q, metrics_q = checked_term(
        method, "critic_loss", method.critic_loss(agent, method_state, own_critic, forward)
    )
    metrics = {
        "loss_q": loss_q,
        "loss_pi": loss_pi,
        "loss_alpha": loss_alpha,
        "by_head": _by_head(batch, jnp.mean(q, axis=0) * scale.sigma + scale.mean, -log_pi),
    }
    total = loss_q + loss_pi + loss_alpha + extra_pi + extra_q
    return total, (forward, merged(metrics, metrics_pi, metrics_q))


def bounds_of(agent: Agent, rewards: Any, alpha: Array, lag: float) -> tuple[Array, Array]:
    """Return the lowest and highest value of each head, [heads] (recall.learn.value_bounds)."""
    return value_bounds.value_bounds(
        rewards,
        agent.settings.sac.discount,
        alpha,
        agent.columns.action_size,
        agent.target_entropy,
        lag,
    )


def _by_head(batch: Batch, *values: Array) -> Array:
    """Return means [len(values), heads] over each head's rows; NaN for heads without rows."""
    one_hot = jax.nn.one_hot(batch.head_of_row(), batch.heads.shape[0])
    return jnp.stack(values) @ one_hot / jnp.sum(one_hot, axis=0)


def update(
    agent: Agent,
    state: LearnerState,
    replay: Replay,
    view: ReplayView,
    groups: int,
    number: Array,
    noise: UpdateNoise,
) -> tuple[LearnerState, Metrics]:
    """Carry out update `number` of one run: the inner loop of the paper's Algorithm 1."""
    method = agent.method
    batch = method.sample(agent, state.method_state, replay, view, groups, number, noise.rows)
    networks = _networks_of(state.trainable, batch)
    weights = method.row_weights(batch, view.task)

    def gradients_for(weights: Array) -> tuple[tuple[Array, tuple[Forward, Metrics]], Gradients]:
        def loss(trained: TrainedParams) -> tuple[Array, tuple[Forward, Metrics]]:
            return joint_loss(agent, trained, networks, state.method_state, batch, weights, noise)

        trained = TrainedParams(networks.actor, networks.critic, networks.log_alpha)
        return jax.value_and_grad(loss, has_aux=True)(trained)

    (total, (forward, metrics)), gradients = gradients_for(weights)
    gradients, edited = method.edit_gradients(
        state.method_state, gradients, batch, lambda weights: gradients_for(weights)[1]
    )
    trainable, norms = apply_gradients(agent, state.trainable, gradients, forward)
    trainable = _with_rewards(trainable, networks, batch)
    finite = jnp.isfinite(total + sum(norms.values()))
    failed_at = jnp.where((state.failed_at < 0) & ~finite, number, state.failed_at)
    method_state = method.on_update(agent, state.method_state, forward)
    state = state._replace(trainable=trainable, method_state=method_state, failed_at=failed_at)
    return state, merged(_by_task(agent, metrics, batch), edited, norms)


def _networks_of(trainable: Trainable, batch: Batch) -> Networks:
    """Return what the losses read, with the batch's heads alone and its rewards seen."""
    networks = take_heads(Networks.of(trainable), batch.heads).in_blocks(batch.rows)
    seen = value_bounds.widen(networks.rewards["heads"], batch.reward, batch.head_of_row())
    return networks._replace(rewards={"heads": seen})


def _with_rewards(trainable: Trainable, networks: Networks, batch: Batch) -> Trainable:
    """Return the state with the range of rewards that the batch has widened."""
    rewards = jax.tree.map(
        lambda leaf, value: put_heads(leaf, value, batch.heads),
        trainable.rewards["heads"],
        networks.rewards["heads"],
    )
    return trainable._replace(rewards={"heads": rewards})


def _by_task(agent: Agent, metrics: Metrics, batch: Batch) -> Metrics:
    """Return the metrics with those of each head as arrays [task], NaN for tasks without rows."""
    q_value, entropy = metrics.pop("by_head")
    none = jnp.full(agent.tasks, jnp.nan)
    return metrics | {
        "q_value": put_heads(none, q_value, batch.heads),
        "entropy": put_heads(none, entropy, batch.heads),
    }


def describe(agent: Agent, state: LearnerState) -> Metrics:
    """Return metrics of the state itself (as opposed to one update), [task] each."""
    scale = scale_of(agent, state.trainable)
    alpha = jnp.exp(state.trainable.log_alpha["heads"])
    bounds = bounds_of(agent, state.trainable.rewards["heads"], alpha, value_bounds.CRITIC_LAG)
    low, high = (jnp.where(jnp.isfinite(bound), bound, jnp.nan) for bound in bounds)
    return {
        "alpha": alpha,
        "mu": scale.mean,
        "sigma": scale.sigma,
        "q_lowest": low,
        "q_highest": high,
    }
