"""The joint loss against a slow transcription of the paper's equations, in float64 NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from recall.learn.state import Networks, TrainedParams
from recall.learn.update import joint_loss, update_noise

from recall.learn import fleet, value_bounds
from recall.methods import FineTuning, PerfectMemory, Recall
from recall.nets import adam
from recall.nets.heads import head_of, take_heads
from tests.factories.learners import NETWORK, make_agent, make_replay, make_view, one

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
        self.agent, self.trainable, self.batch = agent, trainable, batch
        self.heads = np.asarray(batch.heads)[np.asarray(batch.head_of_row())]

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
        if self.agent.method.distils_critics and not batch.new[row]:
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


def networks_of(trainable, batch):
    """The networks of a batch, with its rewards seen."""
    part = take_heads(Networks.of(trainable), batch.heads)
    rewards = value_bounds.widen(part.rewards["heads"], batch.reward, batch.head_of_row())
    return part._replace(rewards={"heads": rewards})


@pytest.mark.parametrize(
    "method",
    [
        FineTuning(batch_size=8),
        PerfectMemory(batch_size=12),
        Recall(batch_size=8, old_batch_size=8),
        Recall(batch_size=8, old_batch_size=8, distil_critics=False),
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
    groups = fleet.groups_of(agent, task)
    drawn = update_noise(agent, groups, jax.random.PRNGKey(9), jnp.asarray(0))
    replay, view = one(make_replay(1)), make_view(task)
    batch = agent.method.sample(agent, (), replay, view, groups, jnp.asarray(0), drawn.rows)
    part = networks_of(trainable, batch)
    weights = method.row_weights(batch, jnp.asarray(task))
    total, (made, metrics) = jax.jit(
        lambda trained: joint_loss(agent, trained, part, (), batch, weights, drawn)
    )(TrainedParams(part.actor, part.critic, part.log_alpha))

    expected = expected_losses(agent, trainable, batch, weights, drawn.noise)
    for name, loss in expected.items():
        np.testing.assert_allclose(metrics[name], loss, rtol=2e-4, atol=1e-5, err_msg=name)
    factors = {"loss_distill": getattr(method, "distillation_weight", None)}
    summed = sum(factors.get(name, 1.0) * loss for name, loss in expected.items())
    np.testing.assert_allclose(total, summed, rtol=2e-4)
    assert made.target.shape == weights.shape


LOSSES = ("loss_q", "loss_pi", "loss_alpha", "loss_distill")
WEIGHTS = np.array([1.0, 1.0, 1.0, Recall().distillation_weight], np.float32)


def test_each_loss_reaches_its_own_parameters_alone():
    agent = make_agent()
    state = one(fleet.init(agent, jnp.array([0])))
    replay = one(make_replay(1))
    drawn = update_noise(agent, 1, jax.random.PRNGKey(1), jnp.asarray(0))
    batch = agent.method.sample(agent, (), replay, make_view(1), 1, jnp.asarray(0), drawn.rows)
    part = networks_of(state.trainable, batch)
    weights = agent.method.row_weights(batch, jnp.asarray(1))

    def each_loss(trained):
        total, (_, metrics) = joint_loss(agent, trained, part, (), batch, weights, drawn)
        return jnp.stack([total, *(metrics[name] for name in LOSSES)])

    trained = TrainedParams(part.actor, part.critic, part.log_alpha)
    by_loss = jax.jit(jax.jacrev(each_loss))(trained)
    sizes = {
        (loss, part): max(np.abs(leaf[1 + i]).max() for leaf in jax.tree.leaves(gradients))
        for i, loss in enumerate(LOSSES)
        for part, gradients in by_loss._asdict().items()
    }
    reached = {pair for pair, size in sizes.items() if size > 0}
    assert reached == {
        ("loss_q", "critic"),
        ("loss_pi", "actor"),
        ("loss_distill", "actor"),
        ("loss_alpha", "log_alpha"),
    }
    # And the sum has them with their weights, everywhere.
    for leaf in jax.tree.leaves(by_loss):
        total = np.tensordot(WEIGHTS, leaf[1:], axes=1)
        np.testing.assert_allclose(leaf[0], total, rtol=1e-4, atol=1e-6)


def test_adam_is_optax_adam_where_gradients_are_large():
    params = jnp.linspace(-1.0, 1.0, 7)
    theirs, optimiser = params, optax.adam(1e-3)
    their_state = optimiser.init(theirs)
    mine, first, second = params, jnp.zeros(7), jnp.zeros(7)
    for count in range(1, 30):
        gradient = (0.1 + jnp.sin(params * count)) * 10.0 ** (count % 3)
        change, their_state = optimiser.update(gradient, their_state)
        theirs = optax.apply_updates(theirs, change)
        step = jnp.asarray(count)
        mine, first, second = adam.step(mine, gradient, first, second, step, 1e-3, 1e-7)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_adam_is_keras_adam_where_gradients_are_as_small_as_epsilon():
    """lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps): at t = 1 the root is 0.032 |g|."""
    gradient, epsilon = np.array([4e-8, 1e-6, -1e-3]), 1e-7
    first, second = 0.1 * gradient, 0.001 * gradient**2
    expected = -1e-3 * np.sqrt(0.001) / 0.1 * first / (np.sqrt(second) + epsilon)
    zeros = jnp.zeros(3)
    moved, *_ = adam.step(zeros, jnp.asarray(gradient), zeros, zeros, jnp.asarray(1), 1e-3, epsilon)
    np.testing.assert_allclose(moved, expected, rtol=1e-4)
    assert abs(moved[0]) < 0.02e-3 < 0.9e-3 < abs(moved[2])


def test_every_head_counts_its_own_adam_steps():
    """Leaves [heads, ...] with one count each step as those heads would alone."""
    gradient = jnp.array([[0.3, -2.0], [0.3, -2.0]])
    moments = 0.1 * gradient, 0.01 * gradient**2
    counts = jnp.array([1, 500])
    together, *_ = adam.step(jnp.zeros((2, 2)), gradient, *moments, counts, 1e-3, 1e-7)
    for head, count in enumerate((1, 500)):
        alone, *_ = adam.step(
            jnp.zeros(2),
            gradient[head],
            *(m[head] for m in moments),
            jnp.asarray(count),
            1e-3,
            1e-7,
        )
        np.testing.assert_allclose(together[head], alone, rtol=1e-5)
    assert not np.allclose(together[0], together[1])


def test_network_settings_are_used():
    assert make_agent().critic.hidden == NETWORK.hidden
