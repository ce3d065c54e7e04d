"""One update: sample a batch, differentiate the joint loss, apply the gradients.

Only the heads that the batch uses take part: the losses see just those, and only those are
rewritten (recall.learn.optimise). The cost of an update grows with the heads in a batch, at most
`max_old_tasks` and one, and hardly with further tasks.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from recall.learn import losses, value_bounds
from recall.learn.agent import Agent
from recall.learn.optimise import apply_gradients, scale_of_loss, statistics_of
from recall.learn.state import Forward, Gradients, LearnerState, Networks, TrainedParams
from recall.nets import gaussian
from recall.nets.arrays import Array, Metrics
from recall.nets.heads import one_trunk, put_heads, take_heads
from recall.replay import buffer
from recall.replay.batch import Batch, ReplayView
from recall.replay.buffer import Replay


class UpdateNoise(NamedTuple):
    """All that is random in one update."""

    rows: Array  # [batch] bits that choose the batch's rows
    noise: Array  # [2, batch, act] standard normal: of the next action, and of the action
    key: Array  # for the method's own draws


def update_noise(agent: Agent, groups: int, key: Array, number: Array) -> UpdateNoise:
    """The random numbers of update `number`: a function of the run's key and nothing else.

    They are drawn for a whole burst at once, before it: one large draw instead of many small
    ones inside the loop, which cost more to compile than everything else there.
    """
    method = agent.method
    old_rows = groups * -(-method.old_batch_size // groups) if groups else 0
    batch = method.batch_size + old_rows
    key_rows, key_noise, key_method = jax.random.split(jax.random.fold_in(key, number), 3)
    noise = jax.random.normal(key_noise, (2, batch, agent.columns.action_size))
    return UpdateNoise(jax.random.bits(key_rows, (batch,)), noise, key_method)


def sample(
    agent: Agent, replay: Replay, view: ReplayView, groups: int, number: Array, bits: Array
) -> Batch:
    """The batch of update `number` as the method wants it; `groups` old tasks take part."""
    method, columns = agent.method, agent.columns
    if method.sampling == "uniform":
        return buffer.sample_uniform(replay, view, columns, bits)
    if method.sampling == "new" or not groups:
        return buffer.sample_new(replay, view, columns, bits)
    heads = buffer.heads_of_update(view, groups, method.max_old_tasks, number)
    return buffer.sample_balanced(replay, view, columns, method.batch_size, heads, bits)


def joint_loss(
    agent: Agent,
    trained: TrainedParams,
    part: Networks,
    method_state: Any,
    batch: Batch,
    weights: Array,
    drawn: UpdateNoise,
) -> tuple[Array, tuple[Forward, Metrics]]:
    """L_Q,norm + L_pi,norm + L_alpha + the method's terms, all from the same parameters.

    `trained` holds what is differentiated, `part` the rest; each term reaches its own parameters
    alone, so one backward pass gives all gradients.
    """
    sac, method = agent.settings.sac, agent.method
    noise_next, noise = drawn.noise
    head, rows = batch.head_of_row(), batch.rows
    statistics, sigma = statistics_of(agent, part)
    mean_row, sigma_row = losses.per_row(statistics, sigma, head)
    alphas = jax.lax.stop_gradient(jnp.exp(trained.log_alpha["heads"]))
    alpha = alphas[head]
    actor = method.actor_for_training(trained.actor, drawn.key)
    frozen_actor, frozen_critic = jax.lax.stop_gradient(
        (one_trunk(actor), one_trunk(trained.critic))
    )

    next_policy = agent.policy(frozen_actor, batch.next_observation, rows)
    next_action, next_log_pi = gaussian.sample(next_policy, noise_next)
    target_q = agent.q(part.target, batch.next_observation, next_action, rows)
    target = losses.target(
        batch.reward, batch.terminated, sac.discount,
        target_q, mean_row, sigma_row, alpha, next_log_pi,
    )  # fmt: skip
    if sac.bound_targets:
        low, high = bounds_of(agent, part.rewards["heads"], alphas)
        target = jnp.clip(target, low[head], high[head])
    learnt = target  # by the critics
    if method.distils_critics and batch.stored is not None:
        learnt = jnp.where(batch.new > 0, target, batch.stored.q)

    q = agent.q(trained.critic, batch.observation, batch.action, rows)
    policy = agent.policy(actor, batch.observation, rows)
    action, log_pi = gaussian.sample(policy, noise)
    policy_q = agent.q(frozen_critic, batch.observation, action, rows)

    forward = Forward(batch, policy, q, target)
    loss_scale = scale_of_loss(agent, statistics, sigma, target, head)
    loss_q = losses.q_loss(q, learnt, *loss_scale, weights)
    loss_pi = losses.policy_loss(policy_q, alpha, log_pi, weights)
    # A product with one-hot rows, not an index: its gradient adds up in a fixed order on a GPU.
    one_hot = jax.nn.one_hot(head, batch.heads.shape[0])
    alpha_weights = weights if method.sampling == "uniform" else batch.new / batch.new.sum()
    loss_alpha = losses.alpha_loss(
        one_hot @ trained.log_alpha["heads"], log_pi, agent.target_entropy, alpha_weights
    )
    extra_pi, metrics_pi = method.actor_loss(agent, method_state, trained.actor, forward)
    extra_q, metrics_q = method.critic_loss(agent, method_state, trained.critic, forward)
    metrics = {
        "loss_q": loss_q,
        "loss_pi": loss_pi,
        "loss_alpha": loss_alpha,
        "by_head": _by_head(batch, jnp.mean(q, axis=0) * sigma_row + mean_row, -log_pi),
    }
    total = loss_q + loss_pi + loss_alpha + extra_pi + extra_q
    return total, (forward, metrics | metrics_pi | metrics_q)


def bounds_of(agent: Agent, rewards: Any, alpha: Array) -> tuple[Array, Array]:
    """The lowest and highest value of each head, [heads] (recall.learn.value_bounds)."""
    return value_bounds.value_bounds(
        rewards,
        agent.settings.sac.discount,
        alpha,
        agent.columns.action_size,
        agent.target_entropy,
    )


def _by_head(batch: Batch, *values: Array) -> Array:
    """[len(values), heads] means over each head's rows; heads without rows give NaN."""
    one_hot = jax.nn.one_hot(batch.head_of_row(), batch.heads.shape[0])
    return jnp.stack(values) @ one_hot / jnp.sum(one_hot, axis=0)


def update(
    agent: Agent,
    state: LearnerState,
    replay: Replay,
    view: ReplayView,
    groups: int,
    number: Array,
    drawn: UpdateNoise,
) -> tuple[LearnerState, Metrics]:
    """Update `number` of one run."""
    method = agent.method
    batch = sample(agent, replay, view, groups, number, drawn.rows)
    # What is differentiated and read; optimisers and targets move in the whole state below.
    part = take_heads(Networks.of(state.trainable), batch.heads).in_blocks(batch.rows)
    rewards = value_bounds.widen(part.rewards["heads"], batch.reward, batch.head_of_row())
    part = part._replace(rewards={"heads": rewards})
    weights = method.row_weights(batch, view.task)

    def gradients_for(weights: Array) -> tuple[Gradients, tuple[Forward, Metrics]]:
        def loss(trained: TrainedParams) -> tuple[Array, tuple[Forward, Metrics]]:
            return joint_loss(agent, trained, part, state.method_state, batch, weights, drawn)

        return jax.grad(loss, has_aux=True)(TrainedParams(part.actor, part.critic, part.log_alpha))

    gradients, (forward, metrics) = gradients_for(weights)
    gradients, edited = method.edit_gradients(
        state.method_state, gradients, batch, lambda weights: gradients_for(weights)[0]
    )
    trainable, norms = apply_gradients(agent, state.trainable, gradients, forward)
    seen = jax.tree.map(
        lambda leaf, value: put_heads(leaf, value, batch.heads), trainable.rewards["heads"], rewards
    )
    trainable = trainable._replace(rewards={"heads": seen})
    finite = jnp.isfinite(metrics["loss_q"] + metrics["loss_pi"] + sum(norms.values()))
    failed_at = jnp.where((state.failed_at < 0) & ~finite, number, state.failed_at)
    state = method.after_update(state._replace(trainable=trainable, failed_at=failed_at))
    by_head = metrics.pop("by_head")
    none = jnp.full(agent.tasks, jnp.nan)
    metrics |= {
        "q_value": put_heads(none, by_head[0], batch.heads),
        "entropy": put_heads(none, by_head[1], batch.heads),
    }
    return state, metrics | edited | norms


def describe(agent: Agent, state: LearnerState) -> Metrics:
    """Metrics of the state itself, as opposed to one update, [task] each."""
    statistics, sigma = statistics_of(agent, state.trainable)
    alpha = jnp.exp(state.trainable.log_alpha["heads"])
    bounds = bounds_of(agent, state.trainable.rewards["heads"], alpha)
    low, high = (jnp.where(jnp.isfinite(bound), bound, jnp.nan) for bound in bounds)
    return {
        "alpha": alpha,
        "mu": statistics.mean,
        "sigma": sigma,
        "q_lowest": low,
        "q_highest": high,
    }
