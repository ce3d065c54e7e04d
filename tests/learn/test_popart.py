import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.learn.losses import moments_by_head, q_loss
from recall.methods import Recall
from recall.nets import popart
from recall.nets.heads import Rows, take_heads
from tests.learn.small import COLUMNS, make_blueprint, make_replay, run_burst

BOUNDS = (1e-4, 1e6)


def unnormalised(blueprint, trainable, observation, action, task):
    """Sigma q + mu of both critics and both targets for one task, [4, batch]."""
    statistics = trainable.popart["heads"]
    scale = popart.sigma(statistics, BOUNDS)[task]
    values = []
    for critic in (trainable.critic, trainable.target):
        one = take_heads(critic, jnp.array([task]))
        q = blueprint.q(one, observation, action, Rows(len(observation)))
        values.append(scale * q + statistics.mean[task])
    return np.concatenate(values)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_all_four_networks_say_the_same_after_the_statistics_moved(scale):
    # With a learning rate of zero and no smoothing, only PopArt touches the critics.
    method = Recall(batch_size=8, old_batch_size=8)
    blueprint = make_blueprint(method, learning_rate=0.0, target_smoothing=0.0)
    state = fleet.init(blueprint, jnp.array([1]))
    replay = make_replay(1)
    rewards = COLUMNS.observation_size + COLUMNS.action_size
    replay = replay._replace(new=replay.new.at[..., rewards].multiply(scale))
    observation = jax.random.normal(jax.random.PRNGKey(5), (6, 3))
    action = jnp.tanh(jax.random.normal(jax.random.PRNGKey(6), (6, 2)))
    before = [
        unnormalised(
            blueprint, jax.tree.map(lambda x: x[0], state.trainable), observation, action, t
        )
        for t in range(3)
    ]
    old_sigma = np.asarray(state.trainable.popart["heads"].variance)
    state, _ = run_burst(blueprint, state, replay, task=2, updates=3)
    trainable = jax.tree.map(lambda leaf: leaf[0], state.trainable)
    for task in range(3):
        after = unnormalised(blueprint, trainable, observation, action, task)
        assert not np.array_equal(old_sigma[0, task], trainable.popart["heads"].variance[task])
        np.testing.assert_allclose(after, before[task], rtol=2e-4, atol=2e-5 * max(1.0, scale))


@pytest.mark.parametrize("scale", [1e-3, 1e5])
def test_normalised_losses_do_not_depend_on_the_scale_of_the_targets(scale):
    rng = np.random.default_rng(0)
    targets = jnp.asarray(rng.normal(3.0, 2.0, 64), jnp.float32)
    head = jnp.zeros(64, int)

    def settled_loss(factor):
        statistics = popart.init(1)
        for _ in range(600):
            mean, variance, present = moments_by_head(targets * factor, head, 1)
            statistics = popart.update(statistics, mean, variance, present, 0.05, False)
        sigma = popart.sigma(statistics, BOUNDS)
        q = jnp.linspace(-1.0, 1.0, 64)[None]
        weights = jnp.full(64, 1 / 64)
        return q_loss(q, targets * factor, statistics.mean[0], sigma[0], weights)

    np.testing.assert_allclose(settled_loss(scale), settled_loss(1.0), rtol=1e-3)


def test_the_variance_keeps_its_digits_where_nu_minus_mu_squared_has_none():
    rng = np.random.default_rng(1)
    targets = jnp.asarray(1e5 + rng.normal(0.0, 3.0, 256), jnp.float32)
    statistics = popart.init(1)
    for _ in range(400):
        mean, variance, present = moments_by_head(targets, jnp.zeros(256, int), 1)
        statistics = popart.update(statistics, mean, variance, present, 0.1, False)
    np.testing.assert_allclose(popart.sigma(statistics, BOUNDS)[0], 3.0, rtol=0.1)


def test_the_recursion_is_the_papers():
    """mu += b (y - mu), nu += b (y^2 - nu), sigma^2 = nu - mu^2, in float64."""
    rng = np.random.default_rng(2)
    beta, mean, second = 0.03, 0.0, 1.0
    statistics = popart.init(1)
    for _ in range(50):
        y = rng.normal(2.0, 1.5, 32)
        mean += beta * (y.mean() - mean)
        second += beta * ((y**2).mean() - second)
        batch = moments_by_head(jnp.asarray(y, jnp.float32), jnp.zeros(32, int), 1)
        statistics = popart.update(statistics, *batch, beta, False)
    np.testing.assert_allclose(statistics.mean[0], mean, rtol=1e-5)
    np.testing.assert_allclose(statistics.variance[0], second - mean**2, rtol=1e-4)


def test_a_bias_corrected_step_takes_the_first_targets_as_they_are():
    statistics = popart.update(
        popart.init(2), jnp.array([7.0, 1.0]), jnp.array([4.0, 1.0]),
        jnp.array([True, False]), 3e-4, True,
    )  # fmt: skip
    np.testing.assert_allclose(statistics.mean, [7.0, 0.0], rtol=1e-4)
    np.testing.assert_allclose(statistics.variance, [4.0, 1.0], rtol=1e-3)
