"""Soft actor-critic with PopArt: one update of one run, as in the paper's Algorithm 1.

    sample a batch                        Method.sample
    targets, n-step and bounded           critic_target
    losses of critics, actor, temperature critic_loss, actor_loss, temperature_loss
    gradients, which a remedy for         gradients_of, remedies.add_terms,
      plasticity or a method may change   Method.edit_gradients
    three steps of Adam                   step
    PopArt, target networks, the average  step

`recall.learn.fleet.burst` loops over `update` for every run. The state holds only the heads that
the batch uses (recall.learn.turns), so the cost of an update grows with the heads in a batch, and
not with further tasks. What a method adds to SAC stands in the functions of `Method` called here.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recall.errors import BadValueError
from recall.learn import remedies, value_bounds
from recall.learn.agent import Agent, LearnerState, Trainable
from recall.learn.method import Gradients, checked_term, merged
from recall.nets import gaussian, popart
from recall.nets.arrays import Array, Metrics, Params
from recall.nets.heads import (
    BatchLayout,
    Heads,
    by_part,
    keep_absent,
    new_head,
    one_trunk,
    put_leaf,
    trunk_for_each,
)
from recall.nets.multihead import LAST_LAYER
from recall.nets.optimiser import adam, clip, polyak
from recall.nets.popart import Scale
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


def update(
    agent: Agent,
    state: LearnerState,
    replay: Replay,
    view: ReplayView,
    heads: Heads,
    number: Array,
    noise: UpdateNoise,
) -> tuple[LearnerState, Metrics]:
    """Carry out update `number` of one run, whose state holds `heads` alone."""
    method, own = agent.method, state.method_state
    batch = method.sample(agent, own, replay, view, heads, noise.rows)
    if len(batch.heads) != len(heads):  # rows would train other heads than theirs
        raise BadValueError(
            f"method {method.name}: sample returns rows of {len(batch.heads)} heads, but it was "
            f"called with {len(heads)}: let `heads` return those that it needs"
        )
    old = with_rewards(agent, state.trainable, batch)
    inputs = LossInputs(agent, own, batch, old, method.row_weights(batch, view.task), noise)
    target = critic_target(inputs)

    gradients, losses = gradients_of(inputs, target)
    gradients, remedy, remedied = remedies.add_terms(
        inputs,
        state.remedy,
        gradients,
        losses,
        lambda bits: method.sample(agent, own, replay, view, heads, bits),
    )

    def gradients_for(weights: Array) -> Gradients:
        return gradients_of(inputs._replace(weights=weights), target)[0]

    gradients, edited = method.edit_gradients(own, gradients, batch, gradients_for)
    trainable, norms = step(agent, old, gradients, batch, target)
    own = method.on_update(agent, own, batch, losses.q, target)

    finite = jnp.isfinite(losses.total + sum(norms.values()))
    failed_at = jnp.where((state.failed_at < 0) & ~finite, number, state.failed_at)
    metrics = merged(losses.metrics, by_task(inputs, losses), remedied, edited, norms)
    return LearnerState(trainable, own, state.key, failed_at, remedy), metrics


def with_rewards(agent: Agent, trainable: Trainable, batch: Batch) -> Trainable:
    """Return the state whose ranges of rewards include those of the batch.

    An n-step return may hold rewards of rows that no batch has had yet: the largest of them is at
    least their mean, and the return over the longest sum of discounts is no further from 0.
    """
    head, seen = batch.head_of_row(), trainable.rewards["heads"]
    seen = value_bounds.widen(seen, batch.reward, head)
    steps, discount = agent.n_step
    if steps > 1:
        mean = batch.future.returns / sum(discount**power for power in range(steps))
        above, below = jnp.maximum(batch.reward, mean), jnp.minimum(batch.reward, mean)
        # A return that ends early is nearer to 0 than its rewards, so 0 itself shows nothing.
        seen = value_bounds.widen(seen, jnp.where(mean > 0, above, batch.reward), head)
        seen = value_bounds.widen(seen, jnp.where(mean < 0, below, batch.reward), head)
    return trainable._replace(rewards={"heads": seen})


class LossInputs(NamedTuple):
    """What the losses of a batch share, besides the parameters that they train."""

    agent: Agent
    method_state: Any
    batch: Batch
    trainable: Trainable  # before the update
    weights: Array  # [batch] how much each row counts
    noise: UpdateNoise

    @property
    def head(self) -> Array:
        """Return which of the batch's heads each row belongs to, [batch]."""
        return self.batch.head_of_row()

    @property
    def scale(self) -> Scale:
        """Return the scale of the values of each row's head, [batch]."""
        return self.agent.scale(self.trainable.popart["heads"]).of_rows(self.head)

    @property
    def alphas(self) -> Array:
        """Return the temperatures [heads]."""
        return jnp.exp(self.trainable.log_alpha["heads"])

    @property
    def acting(self) -> Params:
        """Return the actor as this update uses it, for passes that are not differentiated."""
        actor = self.agent.method.actor_for_training(
            self.method_state, self.trainable.actor, self.noise.key
        )
        return one_trunk(actor)


def critic_target(inputs: LossInputs) -> Array:
    """Return the raw targets Q_tau [batch] of the critics.

    Where the method has targets of its own for old rows, only new rows are bootstrapped. The
    smaller one of an old row stands for it here.
    """
    batch, actor, noise = inputs.batch, inputs.acting, inputs.noise.noise[0]
    stored, layout = inputs.agent.method.old_targets(batch), batch.layout
    if stored is None or not isinstance(layout, BatchLayout):
        return bootstrapped_target(inputs, actor, inputs.trainable.target, noise)
    new = layout.new
    target = bootstrapped_target(
        _of_new_rows(inputs, new), new_head(actor), new_head(inputs.trainable.target), noise[:new]
    )
    return jnp.concatenate([target, jnp.min(stored, axis=0)[new:]])


def _of_new_rows(inputs: LossInputs, new: int) -> LossInputs:
    """Return the part of the inputs that bootstrapping the new rows takes: the last head alone."""
    future = Future(*(part[:new] for part in inputs.batch.future))
    last = {
        name: jax.tree.map(lambda leaf: leaf[-1:], getattr(inputs.trainable, name))
        for name in ("log_alpha", "popart", "rewards")
    }
    return inputs._replace(
        batch=inputs.batch._replace(future=future, layout=BatchLayout(new)),
        trainable=inputs.trainable._replace(**last),
    )


def bootstrapped_target(
    inputs: LossInputs, actor: Params, target_critic: Params, noise: Array
) -> Array:
    """Return Q_tau = R_n + gamma^n (sigma min Q_norm + mu - alpha log pi), [batch], bounded.

    The discount is 0 where the episode terminated. Truncation does not end an episode.
    """
    agent, batch, head = inputs.agent, inputs.batch, inputs.head
    returns, discount, next_observation = batch.future
    policy = agent.policy(actor, next_observation, batch.layout)
    action, log_pi = gaussian.sample(policy, noise)
    q = agent.q(target_critic, next_observation, action, batch.layout)
    mean, sigma = inputs.scale
    value = sigma * jnp.min(q, axis=0) + mean - inputs.alphas[head] * log_pi
    target = returns + discount * value
    if not agent.settings.sac.bound_targets:
        return target
    low, high = agent.value_bounds(
        inputs.trainable.rewards["heads"], inputs.alphas, value_bounds.TARGET_LAG
    )
    return jnp.clip(target, low[head], high[head])


class Losses(NamedTuple):
    """What the losses of a batch have computed besides gradients."""

    total: Array  # the sum of all losses, with the method's terms
    q: Array  # [critic, batch] normalised values of the stored actions
    log_pi: Array  # [batch] of the policy's own actions
    metrics: Metrics


def gradients_of(inputs: LossInputs, target: Array) -> tuple[Gradients, Losses]:
    """Return the gradient of each loss in its own parameters, and what the losses computed."""
    before = inputs.trainable
    (total_q, (q, metrics_q)), of_critic = jax.value_and_grad(critic_loss, has_aux=True)(
        trunk_for_each(before.critic), inputs, target
    )
    (total_pi, (log_pi, metrics_pi)), of_actor = jax.value_and_grad(actor_loss, has_aux=True)(
        trunk_for_each(before.actor), inputs
    )
    loss_alpha, of_alpha = jax.value_and_grad(temperature_loss)(before.log_alpha, inputs, log_pi)
    metrics = merged(metrics_q, metrics_pi, {"loss_alpha": loss_alpha})
    losses = Losses(total_q + total_pi + loss_alpha, q, log_pi, metrics)
    return Gradients(of_actor, of_critic, of_alpha), losses


def critic_loss(
    critic: Params, inputs: LossInputs, target: Array
) -> tuple[Array, tuple[Array, Metrics]]:
    """Return L_Q,norm = E 1/2 (Q_norm - (Q_tau - mu) / sigma)^2, and Q_norm [critic, batch]."""
    agent, batch = inputs.agent, inputs.batch
    method, statistics = agent.method, inputs.trainable.popart["heads"]
    scale = agent.scale(statistics)
    if method.normalise_targets:
        scale = popart.scale_of_loss(statistics, agent.settings.popart, target, inputs.head)
    stored = method.old_targets(batch)
    if stored is not None:
        target = jnp.where(batch.new > 0, target, stored)
    outputs = agent.critic_outputs(critic, batch.observation, batch.action, batch.layout)
    loss = method.q_loss(outputs, target, *scale.of_rows(inputs.head), inputs.weights)
    q = method.values(outputs)
    # A term on the parameters themselves belongs to the new rows' gradient.
    extra, metrics = checked_term(
        method,
        "extra_critic_loss",
        method.extra_critic_loss(agent, inputs.method_state, one_trunk(critic), batch, q),
    )
    return loss + extra, (q, merged({"loss_q": loss}, metrics))


def actor_loss(actor: Params, inputs: LossInputs) -> tuple[Array, tuple[Array, Metrics]]:
    """Return L_pi,norm = E [alpha log pi - min Q_norm], and log pi [batch]."""
    agent, batch = inputs.agent, inputs.batch
    method, critic = agent.method, one_trunk(inputs.trainable.critic)
    acting = method.actor_for_training(inputs.method_state, actor, inputs.noise.key)
    policy = agent.policy(acting, batch.observation, batch.layout)
    action, log_pi = gaussian.sample(policy, inputs.noise.noise[1])
    q = agent.q(critic, batch.observation, action, batch.layout)
    alpha = inputs.alphas[inputs.head]
    loss = jnp.sum(inputs.weights * (alpha * log_pi - jnp.min(q, axis=0)))
    extra, metrics = checked_term(
        method,
        "extra_actor_loss",
        method.extra_actor_loss(agent, inputs.method_state, one_trunk(actor), batch, policy),
    )
    return loss + extra, (log_pi, merged({"loss_pi": loss}, metrics))


def temperature_loss(log_alpha: Params, inputs: LossInputs, log_pi: Array) -> Array:
    """Return L_alpha = -E log alpha (log pi + H), over all rows only if sampling is uniform."""
    batch, agent = inputs.batch, inputs.agent
    uniform = agent.method.sampling == "uniform"
    # A product with one-hot rows instead of indexing, so that a GPU sums its gradient in a fixed
    # order.
    one_hot = jax.nn.one_hot(inputs.head, batch.heads.shape[0])
    weights = inputs.weights if uniform else batch.new / batch.new.sum()
    return -jnp.sum(weights * (one_hot @ log_alpha["heads"]) * (log_pi + agent.target_entropy))


def step(
    agent: Agent, old: Trainable, gradients: Gradients, batch: Batch, target: Array
) -> tuple[Trainable, Metrics]:
    """Return everything that a batch trains after one step, and the gradients' norms.

    Heads without a row in the batch keep their parameters, moments, step counts and targets bit
    for bit.
    """
    method, sac = agent.method, agent.settings.sac
    rate, epsilon, limit = sac.learning_rate, sac.adam_epsilon, method.clip_norm
    of_critic, norms_q = clip(gradients.critic, limit, method.clip_apart)
    of_actor, norms_pi = clip(gradients.actor, limit, method.clip_apart)

    critic, critic_moments = adam(old.critic, of_critic, old.critic_moments, rate, epsilon)
    actor, actor_moments = adam(old.actor, of_actor, old.actor_moments, rate, epsilon)
    log_alpha, alpha_moments = adam(
        old.log_alpha, gradients.log_alpha, old.alpha_moments, rate, epsilon
    )

    target_critic = polyak(old.target, critic, sac.target_smoothing)
    averaged = old.averaged
    if method.average_actor is not None:
        averaged = polyak(averaged, actor, method.average_actor)
    statistics = old.popart["heads"]
    if method.normalise_targets:
        moves = np.ones(len(batch.heads), bool)
        if method.old_targets(batch) is not None:  # old values stay, and so does their scale
            moves[:-1] = False
        statistics, *scales = popart.move(
            statistics, agent.settings.popart, target, batch.head_of_row(), moves
        )
        critic, target_critic = (_preserved(each, *scales) for each in (critic, target_critic))

    present, learns_alpha = _presence(batch, method.sampling == "uniform")
    log_alpha, alpha_moments = keep_absent(
        learns_alpha, (log_alpha, alpha_moments), (old.log_alpha, old.alpha_moments)
    )
    new = Trainable(
        actor=actor,
        critic=critic,
        target=target_critic,
        log_alpha=log_alpha,
        actor_moments=actor_moments,
        critic_moments=critic_moments,
        alpha_moments=alpha_moments,
        popart={"heads": statistics},
        rewards=old.rewards,
        averaged=averaged,
    )
    norms = {f"{name}_q": norm for name, norm in norms_q.items()}
    return keep_absent(present, new, old), norms | {
        f"{name}_pi": norm for name, norm in norms_pi.items()
    }


def _preserved(critic: Params, before: Scale, after: Scale) -> Params:
    """Return critics whose unnormalised values are what they were at the scale before."""

    def preserve(layers: Any, before: Scale, after: Scale) -> Any:
        return layers | {LAST_LAYER: popart.preserve_outputs(layers[LAST_LAYER], before, after)}

    return critic | {"heads": by_part(preserve, critic["heads"], before, after)}


def _presence(batch: Batch, uniform: bool) -> tuple[Heads, Heads]:
    """Return which heads [heads] have rows, and which learn their temperature.

    A static layout has rows for every head, and the current task's is the last. Temperatures learn
    from the current task's rows alone, or from all rows where sampling is uniform.
    """
    heads = len(batch.heads)
    if isinstance(batch.layout, BatchLayout):
        return np.ones(heads, bool), np.arange(heads) == heads - 1
    of_row = jax.nn.one_hot(batch.layout, heads, dtype=bool)
    present, new = jnp.any(of_row, axis=0), jnp.any(of_row & (batch.new > 0)[:, None], axis=0)
    return present, present if uniform else new


def by_task(inputs: LossInputs, losses: Losses) -> Metrics:
    """Return mean Q and entropy of each task's rows, [task]; NaN for tasks without rows."""
    heads, scale = inputs.batch.heads, inputs.scale
    one_hot = jax.nn.one_hot(inputs.head, heads.shape[0])
    values = jnp.mean(losses.q, axis=0) * scale.sigma + scale.mean
    q_value, entropy = jnp.stack([values, -losses.log_pi]) @ one_hot / jnp.sum(one_hot, axis=0)
    none = jnp.full(inputs.agent.tasks, jnp.nan)
    return {
        "q_value": put_leaf(none, q_value, heads),
        "entropy": put_leaf(none, entropy, heads),
    }


def describe(agent: Agent, state: LearnerState) -> Metrics:
    """Return metrics of the state itself (as opposed to one update), [task] each."""
    scale = agent.scale(state.trainable.popart["heads"])
    alpha = jnp.exp(state.trainable.log_alpha["heads"])
    bounds = agent.value_bounds(state.trainable.rewards["heads"], alpha, value_bounds.CRITIC_LAG)
    low, high = (jnp.where(jnp.isfinite(bound), bound, jnp.nan) for bound in bounds)
    return {
        "alpha": alpha,
        "mu": scale.mean,
        "sigma": scale.sigma,
        "q_lowest": low,
        "q_highest": high,
    }
