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
    gradients, edited = method.edit_gradients(own, gradients, batch)
    trainable, norms = step(agent, old, gradients, batch, target)
    own = method.on_update(agent, own, batch, losses.q[:, : len(target)], target)

    finite = jnp.isfinite(losses.total + sum(norms.values()))
    failed_at = jnp.where((state.failed_at < 0) & ~finite, number, state.failed_at)
    metrics = merged(losses.metrics, by_task(inputs, losses), remedied, edited, norms)
    return LearnerState(trainable, own, state.key, failed_at, remedy), metrics


def with_rewards(agent: Agent, trainable: Trainable, batch: Batch) -> Trainable:
    """Return the state whose ranges of rewards include those of the batch.

    An n-step return may hold rewards of rows that no batch has had yet: the largest of them is at
    least their mean, and the return over the longest sum of discounts is no further from 0.
    """
    head, seen = batch.layout.head_of_row, trainable.rewards["heads"]
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

    def of_current_task(self) -> "LossInputs":
        """Return the inputs with the rows and the head of the current task alone.

        Where rows come in any order, or none is old, that is all of them.
        """
        batch, layout = self.batch, self.batch.layout.current
        if layout is None:
            return self
        rows = slice(layout.new)
        last = {
            name: jax.tree.map(lambda leaf: leaf[-1:], getattr(self.trainable, name))
            for name in ("log_alpha", "popart", "rewards")
        }
        return self._replace(
            batch=batch._replace(
                observation=batch.observation[rows],
                action=batch.action[rows],
                reward=batch.reward[rows],
                future=Future(*(part[rows] for part in batch.future)),
                heads=batch.heads[-1:],
                layout=layout,
                new=batch.new[rows],
                stored=None,
            ),
            trainable=self.trainable._replace(**last),
            weights=self.weights[rows],
            noise=self.noise._replace(noise=self.noise.noise[:, rows]),
        )

    @property
    def rehearsed(self) -> "LossInputs":
        """Return the inputs with the rows that SAC trains on: all, or those of the current task."""
        return self if self.agent.method.rehearse else self.of_current_task()

    def own(self, params: Params) -> Params:
        """Return a network with the heads of these inputs' rows."""
        return new_head(params) if len(self.batch.heads) == 1 else params

    @property
    def head(self) -> Array:
        """Return which of the batch's heads each row belongs to, [batch]."""
        return self.batch.layout.head_of_row

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
    """Return the raw targets Q_tau [rows] of the critics, for the rows that SAC trains on.

    Where the method has targets of its own for old rows, only new rows are bootstrapped. The
    smaller one of an old row stands for it here.
    """
    rehearsed = inputs.rehearsed
    stored = inputs.agent.method.old_targets(rehearsed.batch)
    if stored is None:
        return bootstrapped_target(rehearsed, inputs.acting)
    target = bootstrapped_target(inputs.of_current_task(), inputs.acting)
    return jnp.concatenate([target, jnp.min(stored, axis=0)[len(target) :]])


def bootstrapped_target(inputs: LossInputs, actor: Params) -> Array:
    """Return Q_tau = R_n + gamma^n (sigma min Q_norm + mu - alpha log pi), [batch], bounded.

    The discount is 0 where the episode terminated. Truncation does not end an episode.
    """
    agent, batch, head = inputs.agent, inputs.batch, inputs.head
    returns, discount, next_observation = batch.future
    policy = agent.policy(inputs.own(actor), next_observation, batch.layout)
    action, log_pi = gaussian.sample(policy, inputs.noise.noise[0])
    target_critic = inputs.own(inputs.trainable.target)
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
    critic: Array  # SAC's own losses
    actor: Array
    q: Array  # [critic, rows] normalised values of the stored actions
    log_pi: Array  # [batch] of the policy's own actions
    metrics: Metrics


def gradients_of(inputs: LossInputs, target: Array) -> tuple[Gradients, Losses]:
    """Return the gradient of each loss in its own parameters, and what the losses computed."""
    before = inputs.trainable
    (total_q, (loss_q, q, metrics_q)), of_critic = jax.value_and_grad(critic_loss, has_aux=True)(
        trunk_for_each(before.critic), inputs, target
    )
    (total_pi, (loss_pi, log_pi, metrics_pi)), of_actor = jax.value_and_grad(
        actor_loss, has_aux=True
    )(trunk_for_each(before.actor), inputs)
    loss_alpha, of_alpha = jax.value_and_grad(temperature_loss)(before.log_alpha, inputs, log_pi)
    metrics = merged(metrics_q, metrics_pi, {"loss_alpha": loss_alpha})
    losses = Losses(total_q + total_pi + loss_alpha, loss_q, loss_pi, q, log_pi, metrics)
    return Gradients(of_actor, of_critic, of_alpha), losses


def critic_loss(
    critic: Params, inputs: LossInputs, target: Array
) -> tuple[Array, tuple[Array, Array, Metrics]]:
    """Return L_Q,norm = E 1/2 (Q_norm - (Q_tau - mu) / sigma)^2 and Q_norm [critic, rows].

    Both the sum with the method's term and the loss alone are returned. Rows of old tasks are left
    out if no loss trains their critics.
    """
    agent, method, rehearsed = inputs.agent, inputs.agent.method, inputs.rehearsed
    trained = inputs if method.trains_old_critics else rehearsed
    head, statistics = rehearsed.head, rehearsed.trainable.popart["heads"]
    scale = agent.scale(statistics)
    if method.normalise_targets:
        scale = popart.scale_of_loss(statistics, agent.settings.popart, target, head)
    stored = method.old_targets(rehearsed.batch)
    if stored is not None:
        target = jnp.where(rehearsed.batch.new > 0, target, stored)
    batch = trained.batch
    outputs = agent.critic_outputs(
        trained.own(critic), batch.observation, batch.action, batch.layout
    )
    loss = method.q_loss(outputs[:, : len(head)], target, *scale.of_rows(head), rehearsed.weights)
    q = method.values(outputs)
    # A term on the parameters themselves belongs to the new rows' gradient.
    extra, metrics = checked_term(
        method,
        "extra_critic_loss",
        method.extra_critic_loss(
            agent, inputs.method_state, trained.own(one_trunk(critic)), batch, q
        ),
    )
    return loss + extra, (loss, q, merged({"loss_q": loss}, metrics))


def actor_loss(actor: Params, inputs: LossInputs) -> tuple[Array, tuple[Array, Array, Metrics]]:
    """Return L_pi,norm = E [alpha log pi - min Q_norm] and log pi [batch].

    Both the sum with the method's term and the loss alone are returned. The method's term uses the
    policy of all rows, SAC's loss the rows that SAC trains on.
    """
    agent, batch, rehearsed = inputs.agent, inputs.batch, inputs.rehearsed
    method, critic = agent.method, rehearsed.own(one_trunk(inputs.trainable.critic))
    acting = method.actor_for_training(inputs.method_state, actor, inputs.noise.key)
    policy = agent.policy(acting, batch.observation, batch.layout)
    action, log_pi = gaussian.sample(policy, inputs.noise.noise[1])
    rows = slice(len(rehearsed.head))
    q = agent.q(critic, rehearsed.batch.observation, action[rows], rehearsed.batch.layout)
    alpha = rehearsed.alphas[rehearsed.head]
    loss = jnp.sum(rehearsed.weights * (alpha * log_pi[rows] - jnp.min(q, axis=0)))
    extra, metrics = checked_term(
        method,
        "extra_actor_loss",
        method.extra_actor_loss(agent, inputs.method_state, one_trunk(actor), batch, policy),
    )
    return loss + extra, (loss, log_pi, merged({"loss_pi": loss}, metrics))


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
        head = batch.layout.head_of_row[: len(target)]
        statistics, *scales = popart.move(statistics, agent.settings.popart, target, head, moves)
        critic, target_critic = (_preserved(each, *scales) for each in (critic, target_critic))

    present, with_new = batch.layout.presence(batch.new, len(batch.heads))
    # Temperatures learn from the current task's rows alone, unless sampling is uniform.
    learns_alpha = present if method.sampling == "uniform" else with_new
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


def by_task(inputs: LossInputs, losses: Losses) -> Metrics:
    """Return mean Q and entropy of each task's rows, [task]; NaN for tasks without any."""
    heads, scale, rows = inputs.batch.heads, inputs.scale, losses.q.shape[1]
    one_hot = jax.nn.one_hot(inputs.head, len(heads))
    values = jnp.mean(losses.q, axis=0) * scale.sigma[:rows] + scale.mean[:rows]
    values = jnp.pad(values, (0, len(one_hot) - rows))  # the critics may have new rows only
    counts = jnp.stack([jnp.sum(one_hot[:rows], axis=0), jnp.sum(one_hot, axis=0)])
    q_value, entropy = jnp.stack([values, -losses.log_pi]) @ one_hot / counts
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
