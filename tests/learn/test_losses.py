"""The losses against a slow transcription of the paper's equations, in float64 NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.learn.method import Gradients
from recall.learn.sac import (
    LossInputs,
    critic_target,
    gradients_of,
    with_rewards,
)
from recall.methods import FineTuning, PerfectMemory, Recall
from recall.nets import optimiser
from recall.nets.heads import head_of, joined, split_heads, take_heads
from tests.factories.learners import copied, flat, make_agent, make_replay, one, sampled

optax = pytest.importorskip("optax")


def layers(tree):
    hidden = [tree[name] for name in sorted(tree) if name.startswith("hidden")]
    return hidden, tree.get("norm"), tree.get("out")


def forward(network, trunk, head, x):
    """One row through one head, layer by layer."""
    trunk_layers, norm, _ = layers(network.trunk_tree(trunk))
    head_layers, head_norm, out = layers(head)
    norm = norm or head_norm
    for number, layer in enumerate([*trunk_layers, *head_layers]):
        x = x @ np.asarray(layer["kernel"], float) + np.asarray(layer["bias"], float)
        if number == 0:
            x = (x - x.mean()) / np.sqrt(x.var() + 1e-6)
            x = np.tanh(x * np.asarray(norm["scale"], float) + np.asarray(norm["bias"], float))
        else:
            x = np.where(x > 0.0, x, 0.2 * x)
    return x @ np.asarray(out["kernel"], float) + np.asarray(out["bias"], float)


def gaussian(outputs):
    mean, log_std = np.split(outputs, 2)
    return mean, np.clip(log_std, -20, 2)


def draw(mean, log_std, noise):
    before = mean + np.exp(log_std) * noise
    log_pi = np.sum(-0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi))
    return np.tanh(before), log_pi - np.sum(np.log(1 - np.tanh(before) ** 2))


class Transcription:
    """The losses of one row at a time, as the paper writes them."""

    def __init__(self, agent, trainable, batch):
        self.heads = np.asarray(batch.heads)[np.asarray(batch.layout.head_of_row)]
        # NumPy's arrays are read row by row without compiling anything.
        self.agent, self.trainable, self.batch = agent, copied(trainable), copied(batch)

    def scale(self, row):
        """Mu, sigma and alpha of the row's task."""
        head, statistics = self.heads[row], self.trainable.popart["heads"]
        alpha = np.exp(float(self.trainable.log_alpha["heads"][head]))
        return float(statistics.mean[head]), np.sqrt(float(statistics.variance[head])), alpha

    def policy(self, row, s):
        actor, network = self.trainable.actor, self.agent.actor
        head = head_of(actor["heads"], self.heads[row])
        return gaussian(forward(network, actor["trunk"], head, np.asarray(s, float)))

    def q(self, row, critic, s, a):
        """Of both critics."""
        x = np.concatenate([np.asarray(s, float), np.asarray(a, float)])
        heads = head_of(critic["heads"], self.heads[row])
        parts = [(critic["trunk"][i], head_of(heads, i)) for i in (0, 1)]
        return np.array([forward(self.agent.critic, *part, x)[0] for part in parts])

    def loss_q(self, row, noise):
        batch, (mu, sigma, alpha) = self.batch, self.scale(row)
        following = batch.future.next_observation[row]
        action, log_pi = draw(*self.policy(row, following), noise)
        future = self.q(row, self.trainable.target, following, action).min()
        value = sigma * future + mu - alpha * log_pi
        y = float(batch.future.returns[row]) + float(batch.future.discount[row]) * value
        if self.agent.method.old_targets(batch) is not None and not batch.new[row]:
            y = np.asarray(batch.stored.q[:, row], float)
        q = self.q(row, self.trainable.critic, batch.observation[row], batch.action[row])
        return np.sum(0.5 * (q - (y - mu) / sigma) ** 2)

    def loss_pi_and_alpha(self, row, noise):
        s, (_, _, alpha) = self.batch.observation[row], self.scale(row)
        action, log_pi = draw(*self.policy(row, s), noise)
        best = self.q(row, self.trainable.critic, s, action).min()
        entropy = self.agent.target_entropy
        return alpha * log_pi - best, -np.log(alpha) * (log_pi + entropy)

    def loss_distill(self, row):
        mean, log_std = self.policy(row, self.batch.observation[row])
        stored = self.batch.stored.policy
        kept_mean, kept_log_std = (np.asarray(part[row], float) for part in stored)
        kl = kept_log_std - log_std - 0.5
        kl += (np.exp(2 * log_std) + (mean - kept_mean) ** 2) / (2 * np.exp(2 * kept_log_std))
        return kl.mean() if self.agent.method.distillation_kl == "mean" else kl.sum()


def expected_losses(agent, trainable, batch, weights, noise):
    """The means over a batch, by the names of the metrics."""
    paper = Transcription(agent, trainable, batch)
    weights, new = np.asarray(weights, float), np.asarray(batch.new, float)
    rows = range(len(weights))
    noise_next, noise = np.asarray(noise, float)
    pi_and_alpha = np.array([paper.loss_pi_and_alpha(row, noise[row]) for row in rows])
    alpha_weights = weights if agent.method.sampling == "uniform" else new / new.sum()
    losses = {
        "loss_q": weights @ [paper.loss_q(row, noise_next[row]) for row in rows],
        "loss_pi": weights @ pi_and_alpha[:, 0],
        "loss_alpha": alpha_weights @ pi_and_alpha[:, 1],
    }
    if isinstance(agent.method, Recall):
        losses["loss_distill"] = np.mean([paper.loss_distill(row) for row in rows if not new[row]])
    return losses


def inputs_of(agent, trainable, batch, weights, drawn):
    part = with_rewards(agent, take_heads(trainable, batch.heads), batch)
    return LossInputs(agent, (), batch, part, weights, drawn)


@pytest.mark.parametrize(
    "method",
    [
        FineTuning(batch_size=8),
        PerfectMemory(batch_size=12),
        Recall(batch_size=8, old_batch_size=8),
        pytest.param(
            Recall(batch_size=8, old_batch_size=8, distil_critics=False), marks=pytest.mark.slow
        ),
        Recall(batch_size=8, old_batch_size=8, old_weight="per_task", distillation_kl="sum"),
    ],
    ids=["fine_tuning", "perfect_memory", "recall", "bootstrapped", "per_task_sum"],
)
def test_losses_are_the_papers(method):
    agent, task = make_agent(method), 2
    trainable = one(fleet.init(agent, jnp.array([3])).trainable)
    statistics = trainable.popart["heads"]
    if method.normalise_targets:
        statistics = statistics._replace(
            mean=jnp.array([1.0, -2.0, 0.5, 0.0]),
            variance=jnp.array([4.0, 0.25, 9.0, 1.0]),
            updates=jnp.ones(4),
        )
    trainable = trainable._replace(
        popart={"heads": statistics}, log_alpha={"heads": jnp.array([0.1, -0.3, 0.4, 1.0])}
    )
    batch, drawn, weights = sampled(agent, one(make_replay(1)), task)

    @jax.jit
    def losses_of(trainable):
        inputs = inputs_of(agent, trainable, batch, weights, drawn)
        target = critic_target(inputs)
        return gradients_of(inputs, target)[1], target

    losses, target = losses_of(trainable)
    expected = expected_losses(agent, trainable, batch, weights, drawn.noise)
    for name, loss in expected.items():
        np.testing.assert_allclose(losses.metrics[name], loss, rtol=2e-4, atol=1e-5, err_msg=name)
    factors = {"loss_distill": getattr(method, "distillation_weight", None)}
    summed = sum(factors.get(name, 1.0) * loss for name, loss in expected.items())
    np.testing.assert_allclose(losses.total, summed, rtol=2e-4)
    assert target.shape == weights.shape


def test_losses_do_not_move_what_belongs_to_other_heads():
    """The gradient in each network's heads is that of the batch's rows of the same head."""
    agent = make_agent(Recall(batch_size=8, old_batch_size=8))
    trainable = one(fleet.init(agent, jnp.array([0])).trainable)
    batch, drawn, weights = sampled(agent, one(make_replay(1)), 1)
    weights = weights * (batch.new > 0)  # old rows count for nothing but the distillation

    @jax.jit
    def gradients(trainable):
        inputs = inputs_of(agent, trainable, batch, weights, drawn)
        return gradients_of(inputs, critic_target(inputs))[0]

    found: Gradients = gradients(trainable)
    assert not np.any(flat(found.critic["heads"])[0])
    assert np.any(flat(found.critic["heads"])[1])
    assert np.any(flat(found.actor["heads"])[0]), "the old policy is distilled"
    assert found.log_alpha["heads"][0] == 0.0 != found.log_alpha["heads"][1]


def of_heads(values, count):
    """Parameters of one head, and moments after `count` steps without a gradient."""
    params = {"heads": jnp.asarray(values)[None]}
    steps = {"shared": jnp.asarray(count), "heads": jnp.array([count])}
    return params, optimiser.init(params)._replace(steps=steps)


def test_adam_is_optax_adam_where_gradients_are_large():
    params = jnp.linspace(-1.0, 1.0, 7)
    theirs, adam = params, optax.adam(1e-3)
    their_state = adam.init(theirs)
    mine, moments = of_heads(params, 0)
    for count in range(1, 30):
        gradient = (0.1 + jnp.sin(params * count)) * 10.0 ** (count % 3)
        change, their_state = adam.update(gradient, their_state)
        theirs = optax.apply_updates(theirs, change)
        mine, moments = optimiser.adam(mine, {"heads": gradient[None]}, moments, 1e-3, 1e-7)
    np.testing.assert_allclose(mine["heads"][0], theirs, rtol=1e-5)


def test_adam_is_keras_adam_where_gradients_are_as_small_as_epsilon():
    """lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps): at t = 1 the root is 0.032 |g|."""
    gradient, epsilon = np.array([4e-8, 1e-6, -1e-3]), 1e-7
    first, second = 0.1 * gradient, 0.001 * gradient**2
    expected = -1e-3 * np.sqrt(0.001) / 0.1 * first / (np.sqrt(second) + epsilon)
    params, moments = of_heads(jnp.zeros(3), 0)
    moved, _ = optimiser.adam(
        params, {"heads": jnp.asarray(gradient)[None]}, moments, 1e-3, epsilon
    )
    np.testing.assert_allclose(moved["heads"][0], expected, rtol=1e-4)


@pytest.mark.parametrize("groups", [0, 1], ids=["together", "apart"])
def test_every_head_counts_its_own_adam_steps(groups):
    """Whether old heads and the current one are apart or not."""
    counts, gradient = (1, 500), jnp.array([0.3, -2.0])
    params = {"heads": split_heads(jnp.zeros((2, 2)), groups)}
    moments = optimiser.init({"heads": jnp.zeros((2, 2))})
    moments = moments._replace(
        steps={"shared": jnp.asarray(0), "heads": split_heads(jnp.array(counts), groups)},
        first={"heads": split_heads(moments.first["heads"], groups)},
        second={"heads": split_heads(moments.second["heads"], groups)},
    )
    both = {"heads": split_heads(jnp.stack([gradient, gradient]), groups)}
    together, after = optimiser.adam(params, both, moments, 1e-3, 1e-7)
    for head, count in enumerate(counts):
        mine, _ = optimiser.adam(*_with(of_heads(jnp.zeros(2), count), gradient), 1e-3, 1e-7)
        np.testing.assert_allclose(joined(together["heads"])[head], mine["heads"][0], rtol=1e-5)
    np.testing.assert_array_equal(joined(after.steps["heads"]), [2, 501])


def _with(start, gradient):
    params, moments = start
    return params, {"heads": gradient[None]}, moments
