"""The joint loss against a slow transcription of the paper's equations, in float64 NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.learn.update import chance, joint_loss, sample
from recall.methods import FineTuning, PerfectMemory, Recall
from recall.nets import adam
from recall.nets.heads import head_of, take_heads
from recall.types import Gradients, Networks
from tests.learn.small import NETWORK, make_blueprint, make_replay, make_stage

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
            x = np.maximum(x, 0.0)
    return x @ np.asarray(out["kernel"], float) + np.asarray(out["bias"], float)


def gaussian(outputs):
    mean, log_std = np.split(outputs, 2)
    return mean, np.clip(log_std, -20, 2)


def draw(mean, log_std, noise):
    before = mean + np.exp(log_std) * noise
    log_pi = np.sum(-0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi))
    return np.tanh(before), log_pi - np.sum(np.log(1 - np.tanh(before) ** 2))


@pytest.mark.parametrize(
    "method",
    [
        FineTuning(batch_size=8),
        PerfectMemory(batch_size=12),
        Recall(batch_size=8, old_batch_size=8),
        Recall(batch_size=8, old_batch_size=8, old_weight="per_task", distillation_kl="sum"),
    ],
    ids=["fine_tuning", "perfect_memory", "recall", "per_task_sum"],
)
def test_losses_are_the_papers(method):
    blueprint = make_blueprint(method)
    task = 2
    state = jax.tree.map(lambda leaf: leaf[0], fleet.init(blueprint, jnp.array([3])))
    trainable = state.trainable
    statistics = trainable.popart["heads"]
    if method.normalise_targets:
        statistics = statistics._replace(
            mean=jnp.array([1.0, -2.0, 0.5, 0.0]), variance=jnp.array([4.0, 0.25, 9.0, 1.0])
        )
    trainable = trainable._replace(
        popart={"heads": statistics},
        log_alpha={"heads": jnp.array([0.1, -0.3, 0.4, 1.0])},
    )
    replay = jax.tree.map(lambda leaf: leaf[0], make_replay(1))
    groups = fleet.groups_of(blueprint, task)
    drawn = chance(blueprint, groups, jax.random.PRNGKey(9), jnp.asarray(0))
    batch = sample(blueprint, replay, make_stage(task), groups, jnp.asarray(0), drawn.rows)
    part = take_heads(Networks.of(trainable), batch.heads)
    weights = method.row_weights(batch, jnp.asarray(task))
    trained = Gradients(part.actor, part.critic, part.log_alpha)
    total, (made, metrics) = jax.jit(
        lambda trained: joint_loss(blueprint, trained, part, (), batch, weights, drawn)
    )(trained)

    noise_next, noise = np.asarray(drawn.noise, float)
    head_of_row = np.asarray(batch.head_of_row())
    rows = len(head_of_row)
    old = 1.0 - np.asarray(batch.new)
    sac, entropy = blueprint.settings.sac, blueprint.target_entropy
    loss_q = loss_pi = loss_alpha = loss_distill = 0.0
    for row in range(rows):
        head = int(np.asarray(batch.heads)[head_of_row[row]])
        actor = (trainable.actor["trunk"], head_of(trainable.actor["heads"], head))
        alpha = np.exp(float(trainable.log_alpha["heads"][head]))
        mu, sigma = float(statistics.mean[head]), np.sqrt(float(statistics.variance[head]))

        def q(critic, which, s, a, head=head):
            x = np.concatenate([s, a])
            trunk, heads = critic["trunk"][which], head_of(head_of(critic["heads"], head), which)
            return forward(blueprint.critic, trunk, heads, x)[0]

        s = np.asarray(batch.observation[row], float)
        following = np.asarray(batch.next_observation[row], float)
        next_action, next_log_pi = draw(
            *gaussian(forward(blueprint.actor, *actor, following)), noise_next[row]
        )
        future = min(q(trainable.target, i, following, next_action) for i in (0, 1))
        value = sigma * future + mu - alpha * next_log_pi
        y = float(batch.reward[row]) + sac.discount * (1 - float(batch.terminated[row])) * value
        w = float(weights[row])
        for i in (0, 1):
            error = (
                q(trainable.critic, i, s, np.asarray(batch.action[row], float)) - (y - mu) / sigma
            )
            loss_q += w * 0.5 * error**2
        mean, log_std = gaussian(forward(blueprint.actor, *actor, s))
        action, log_pi = draw(mean, log_std, noise[row])
        best = min(q(trainable.critic, i, s, action) for i in (0, 1))
        loss_pi += w * (alpha * log_pi - best)
        everything = method.sampling == "everything"
        alpha_weight = w if everything else float(batch.new[row]) / float(np.sum(batch.new))
        loss_alpha -= alpha_weight * np.log(alpha) * (log_pi + entropy)
        if isinstance(method, Recall) and old[row]:
            kept_mean = np.asarray(batch.stored.mean[row], float)
            kept_log_std = np.asarray(batch.stored.log_std[row], float)
            kl = kept_log_std - log_std - 0.5
            kl += (np.exp(2 * log_std) + (mean - kept_mean) ** 2) / (2 * np.exp(2 * kept_log_std))
            reduce = np.mean if method.distillation_kl == "mean" else np.sum
            loss_distill += reduce(kl) / old.sum()
    np.testing.assert_allclose(metrics["loss_q"], loss_q, rtol=2e-4)
    np.testing.assert_allclose(metrics["loss_pi"], loss_pi, rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(metrics["loss_alpha"], loss_alpha, rtol=2e-4, atol=1e-5)
    expected = loss_q + loss_pi + loss_alpha
    if isinstance(method, Recall):
        np.testing.assert_allclose(metrics["loss_distill"], loss_distill, rtol=2e-4)
        expected += method.distillation_weight * loss_distill
    np.testing.assert_allclose(total, expected, rtol=2e-4)
    assert made.target.shape == (rows,)


LOSSES = ("loss_q", "loss_pi", "loss_alpha", "loss_distill")
WEIGHTS = np.array([1.0, 1.0, 1.0, Recall().distillation_weight], np.float32)


def test_each_loss_reaches_its_own_parameters_alone():
    blueprint = make_blueprint()
    state = jax.tree.map(lambda leaf: leaf[0], fleet.init(blueprint, jnp.array([0])))
    replay = jax.tree.map(lambda leaf: leaf[0], make_replay(1))
    drawn = chance(blueprint, 1, jax.random.PRNGKey(1), jnp.asarray(0))
    batch = sample(blueprint, replay, make_stage(1), 1, jnp.asarray(0), drawn.rows)
    part = take_heads(Networks.of(state.trainable), batch.heads)
    weights = blueprint.method.row_weights(batch, jnp.asarray(1))

    def each_loss(trained):
        total, (_, metrics) = joint_loss(blueprint, trained, part, (), batch, weights, drawn)
        return jnp.stack([total, *(metrics[name] for name in LOSSES)])

    trained = Gradients(part.actor, part.critic, part.log_alpha)
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


def test_adam_is_optax_adam():
    params = jnp.linspace(-1.0, 1.0, 7)
    theirs, optimiser = params, optax.adam(1e-3)
    their_state = optimiser.init(theirs)
    mine, first, second = params, jnp.zeros(7), jnp.zeros(7)
    for count in range(1, 30):
        gradient = jnp.sin(params * count) * 10.0 ** (count % 3)
        change, their_state = optimiser.update(gradient, their_state)
        theirs = optax.apply_updates(theirs, change)
        mine, first, second = adam.step(mine, gradient, first, second, jnp.asarray(count), 1e-3)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_network_settings_are_used():
    assert make_blueprint().critic.hidden == NETWORK.hidden
