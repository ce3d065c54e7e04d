import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.methods import FineTuning, Recall
from recall.nets import popart
from recall.nets.heads import BatchLayout, take_heads
from recall.nets.popart import moments_by_head
from recall.settings import PopArtSettings
from tests.factories.learners import (
    REWARD,
    TASKS,
    copied,
    make_agent,
    make_replay,
    one,
    run_burst,
)

SETTINGS = PopArtSettings()


def sigma(statistics):
    return popart.scale_of(statistics, SETTINGS).sigma


@partial(jax.jit, static_argnums=0)
def unnormalised(agent, trainable, observation, action, task):
    """Sigma q + mu of both critics and both targets for one task, [4, batch]."""
    statistics = trainable.popart["heads"]
    scale = sigma(statistics)[task]
    values = []
    for critic in (trainable.critic, trainable.target):
        one = take_heads(critic, jnp.array([task]))
        q = agent.q(one, observation, action, BatchLayout(len(observation)))
        values.append(scale * q + statistics.mean[task])
    return jnp.concatenate(values)


@pytest.mark.parametrize("scale", [1e-3, 1e5])
def test_all_four_networks_say_the_same_after_the_statistics_moved(scale):
    # With a learning rate of zero and no smoothing, only PopArt touches the critics; without a
    # discount the targets are the rewards, of all tasks.
    method = Recall(batch_size=8, old_batch_size=8, distil_critics=False)
    agent = make_agent(method, learning_rate=0.0, target_smoothing=0.0, discount=0.0)
    state = fleet.init(agent, jnp.array([1]))
    observation = jax.random.normal(jax.random.PRNGKey(5), (6, 3))
    action = jnp.tanh(jax.random.normal(jax.random.PRNGKey(6), (6, 2)))

    def moved(state, rewards_times, updates):
        """The state after the statistics moved to rewards of this scale, all values kept."""
        replay = jax.tree.map(lambda leaf: leaf.at[..., REWARD].multiply(rewards_times),
                              make_replay(1))  # fmt: skip
        first, before = (copied(each) for each in (state.trainable, state.trainable.popart))
        state, _ = run_burst(agent, state, replay, task=2, updates=updates)
        scales = sigma(state.trainable.popart["heads"])[0]
        for task in range(3):
            values = [
                unnormalised(agent, one(each), observation, action, task)
                for each in (first, state.trainable)
            ]
            largest = max(scales[task], np.sqrt(before["heads"].variance[0, task]))
            np.testing.assert_allclose(*values[::-1], rtol=2e-4, atol=2e-5 * largest)
        return state, scales[:3]

    first = jax.tree.map(lambda leaf: leaf.at[..., REWARD].multiply(scale), make_replay(1))
    state, _ = run_burst(agent, state, first, task=2, updates=1)  # sets the first scale
    scales = sigma(state.trainable.popart["heads"])[0, :3]
    assert np.all((0.1 * scale < scales) & (scales < scale))
    state, again = moved(state, 30.0 * scale, 3)
    assert np.all(again > 5.0 * scales)


@pytest.mark.parametrize(
    ("step_size", "bias_corrected", "updates"),
    [(0.1, False, 400), (3e-4, True, 1), (3e-4, True, 2), (3e-4, True, 400), (1.0, True, 3)],
)
def test_the_variance_keeps_its_digits_where_nu_minus_mu_squared_has_none(
    step_size, bias_corrected, updates
):
    rng = np.random.default_rng(1)
    targets = jnp.asarray(1e5 + rng.normal(0.0, 3.0, 256), jnp.float32)
    statistics = popart.init(1)
    batch = moments_by_head(targets, jnp.zeros(256, int), 1)
    for _ in range(updates):
        statistics = popart.update(statistics, *batch, step_size, bias_corrected)
    np.testing.assert_allclose(sigma(statistics)[0], 3.0, rtol=0.1)
    np.testing.assert_allclose(statistics.mean[0], 1e5, atol=1.0)


@pytest.mark.parametrize("reward", [1e5, -1e3])
def test_a_task_that_always_pays_the_same_is_learned_from(reward):
    agent = make_agent()
    replay = make_replay(2)
    replay = replay._replace(new=replay.new.at[..., REWARD].set(reward))
    state, metrics = run_burst(agent, fleet.init(agent, jnp.array([0, 1])), replay, 1)
    assert fleet.failures(state.failed_at, ["first", "second"]) == {}
    # Three updates: from one reward's worth to what two of them are worth.
    assert np.all(np.abs(metrics["mu"][:, 1] / reward - 1.5) < 0.5)


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


@pytest.mark.parametrize("step_size", [3e-4, 0.1])
def test_a_bias_corrected_step_takes_the_first_targets_as_they_are(step_size):
    """To the bit: a first step of a little more than 1 would make the last variance negative."""
    statistics = popart.update(
        popart.init(3), jnp.array([7.0, 1.0, 1e5]), jnp.array([4.0, 1.0, 0.0]),
        jnp.array([True, False, True]), step_size, True,
    )  # fmt: skip
    np.testing.assert_array_equal(statistics.mean, [7.0, 0.0, 1e5])
    np.testing.assert_array_equal(statistics.variance, [4.0, 1.0, 0.0])


def test_bias_corrected_steps_give_a_weighted_mean_of_what_was_seen():
    """Weights (1 - beta)^age, of the batches alone: nothing of the start at (0, 1) is left."""
    beta, means = 0.2, [5.0, -2.0, 8.0, 1.0]
    statistics = popart.init(1)
    for mean in means:
        statistics = popart.update(
            statistics, jnp.array([mean]), jnp.array([0.5]), jnp.array([True]), beta, True
        )
    weights = (1 - beta) ** np.arange(len(means))[::-1]
    expected = np.average(means, weights=weights)
    np.testing.assert_allclose(statistics.mean[0], expected, rtol=1e-5)
    spread = 0.5 + np.average((np.array(means) - expected) ** 2, weights=weights)
    np.testing.assert_allclose(statistics.variance[0], spread, rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_a_heads_first_loss_is_normalised_by_its_own_batch(scale):
    """So the first gradient is the same whatever the rewards' scale, clipped or not."""
    method = Recall(batch_size=8, old_batch_size=8, clip_norm=None)
    agent = make_agent(method, discount=0.0)
    replay = make_replay(1)
    replay = replay._replace(new=replay.new.at[..., REWARD].multiply(scale))
    state = fleet.init(agent, jnp.array([0]))
    before = copied(state.trainable.critic["heads"])
    state, metrics = run_burst(agent, state, replay, 0, updates=1)
    assert 0.1 < float(metrics["loss_q"][0]) < 10.0
    assert 0.1 < float(metrics["grad_norm_q"][0]) < 50.0
    # Nothing was learned at the scale (0, 1), so the last layer is not rewritten to it.
    after = copied(state.trainable.critic["heads"])
    np.testing.assert_allclose(
        after["out"]["kernel"][0, 0], before["out"]["kernel"][0, 0], atol=2e-3
    )


def test_a_first_batch_of_one_row_is_normalised_too():
    target, head = jnp.array([1.0, 2.0, 3.0, -1000.0]), jnp.array([0, 0, 0, 1])
    scale = popart.scale_of_loss(popart.init(2), SETTINGS, target, head).of_rows(head)
    np.testing.assert_allclose(scale.mean, [2.0, 2.0, 2.0, -1000.0], rtol=1e-6)
    np.testing.assert_allclose((target - scale.mean) / scale.sigma, [-1.22, 0, 1.22, 0], atol=0.01)


def test_values_are_recorded_in_the_units_of_the_rewards():
    agent = make_agent()
    trainable = fleet.init(agent, jnp.array([0])).trainable
    statistics = popart.Statistics(*(jnp.full((1, TASKS), value) for value in (70.0, 9.0, 1.0)))
    out = trainable.critic["heads"]["out"]
    says_two = {"kernel": jnp.zeros_like(out["kernel"]), "bias": jnp.full_like(out["bias"], 2.0)}
    critic = trainable.critic | {"heads": trainable.critic["heads"] | {"out": says_two}}
    trainable = trainable._replace(popart={"heads": statistics}, critic=critic)
    state = fleet.init(agent, jnp.array([0]))._replace(trainable=trainable)
    _, metrics = run_burst(agent, state, make_replay(1), 2, updates=1)
    np.testing.assert_allclose(metrics["q_value"][0, :3], 3.0 * 2.0 + 70.0, rtol=1e-6)


def test_the_scale_stays_within_its_bounds():
    statistics = popart.Statistics(jnp.zeros(3), jnp.array([1e-12, 4.0, 1e14]), jnp.ones(3))
    np.testing.assert_allclose(sigma(statistics), [1e-4, 2.0, 1e6])


def test_bounds_of_the_scale_do_nothing_where_nothing_is_normalised():
    agent = make_agent(FineTuning(batch_size=8))
    wide = dataclasses.replace(
        agent,
        settings=dataclasses.replace(
            agent.settings,
            popart=dataclasses.replace(agent.settings.popart, sigma_bounds=(10.0, 1e6)),
        ),
    )
    statistics = one(fleet.init(wide, jnp.array([0]))).trainable.popart["heads"]
    scale = wide.scale(statistics)
    assert np.all(scale.mean == 0.0)
    assert np.all(scale.sigma == 1.0)


def test_a_head_with_a_single_row_keeps_its_scale():
    """One target has no spread: normalising by it would blow the next ones up."""
    _, _, present = moments_by_head(jnp.array([1.0, 2.0, 3.0]), jnp.array([0, 0, 1]), 3)
    assert present.tolist() == [True, False, False]
