"""Targets stay within the values that a task's rewards allow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.learn.sac import with_rewards
from recall.learn.value_bounds import RewardRange, init, value_bounds, widen
from recall.methods import Clear, FineTuning, MultiTask, PerfectMemory, Recall
from tests.factories.learners import (
    REWARD,
    TASKS,
    make_agent,
    make_replay,
    make_view,
    one,
    run_burst,
)


def test_the_range_is_that_of_the_rewards_of_each_head():
    rewards = widen(init(3), jnp.array([1.0, -2.0, 5.0, 0.5]), jnp.array([0, 0, 2, 2]))
    np.testing.assert_array_equal(rewards.lowest, [-2.0, np.inf, 0.5])
    np.testing.assert_array_equal(rewards.highest, [1.0, -np.inf, 5.0])
    wider = widen(rewards, jnp.array([-3.0, 4.0]), jnp.array([2, 1]))
    np.testing.assert_array_equal(wider.lowest, [-2.0, 4.0, -3.0])
    np.testing.assert_array_equal(wider.highest, [1.0, 4.0, 5.0])


@pytest.mark.parametrize(
    ("lowest", "highest", "low", "high"),
    [(-1.0, 2.0, -10.0, 20.0), (1.0, 2.0, 1.0, 20.0), (-3.0, -1.0, -30.0, -1.0)],
)
def test_values_lie_between_one_step_and_infinitely_many(lowest, highest, low, high):
    rewards = RewardRange(jnp.array([lowest]), jnp.array([highest]))
    found = value_bounds(rewards, 0.9, jnp.zeros(1), 4, -4.0)
    np.testing.assert_allclose([bound[0] for bound in found], [low, high], rtol=1e-5)


def test_a_temperature_makes_room_for_the_entropy_of_every_further_step():
    rewards = RewardRange(jnp.zeros(1), jnp.zeros(1))
    low, high = value_bounds(rewards, 0.9, jnp.array([0.5]), 4, -4.0)
    # 0.9 / (1 - 0.9) times e alpha times the entropy: the target's, and a uniform action's.
    expected = 9 * np.e * 0.5 * np.array([-4.0, 4 * np.log(2)])
    np.testing.assert_allclose([low[0], high[0]], expected, rtol=1e-5)
    later = value_bounds(rewards, 0.9, jnp.array([0.5 / np.e]), 4, -4.0, lag=2.0)
    np.testing.assert_allclose([bound[0] for bound in later], expected, rtol=1e-5)


def test_sums_that_never_end_have_no_bound():
    rewards = RewardRange(jnp.zeros(2), jnp.array([0.0, 1.0]))
    low, high = value_bounds(rewards, 1.0, jnp.ones(2), 4, -4.0)
    np.testing.assert_array_equal(low, [-np.inf, -np.inf])
    np.testing.assert_array_equal(high, [np.inf, np.inf])


def explode(state, size):
    """Target networks that claim values of this size."""
    target = state.trainable.target
    heads = target["heads"] | {"out": jax.tree.map(lambda x: x + size, target["heads"]["out"])}
    return state._replace(
        trainable=state.trainable._replace(target={"trunk": target["trunk"], "heads": heads})
    )


def largest_target(method, size, **sac):
    """Size of the targets of one update whose target networks claim values of `size`."""
    agent = make_agent(method, **sac)
    state = explode(fleet.init(agent, jnp.array([0])), size)
    _, metrics = run_burst(agent, state, make_replay(1), 1, updates=1)
    # Targets show in the loss where they are raw, and in PopArt's mean where they are normalised.
    if method.normalise_targets:
        return abs(float(metrics["mu"][0, 1]))
    return float(np.sqrt(metrics["loss_q"][0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        Recall(batch_size=8, old_batch_size=8),
        Recall(batch_size=8, old_batch_size=8, distil_critics=False),
        PerfectMemory(batch_size=32),
        PerfectMemory(batch_size=32, replay_mode="online"),
        Clear(batch_size=8, old_batch_size=8),
        MultiTask(batch_size=32),
    ],
    ids=["recall", "bootstrapped", "perfect_memory", "online", "clear", "multi_task"],
)
def test_no_method_learns_values_beyond_them(method):
    """A critic that claims a million where rewards are below 3 is not believed."""
    assert np.abs(make_replay(1).new[..., REWARD]).max() < 3.0
    assert all(largest_target(method, size) < 1e4 for size in (-1e6, 1e6))


def test_without_bounds_any_value_is_learned():
    method = PerfectMemory(batch_size=32)
    assert largest_target(method, 1e6, bound_targets=False) > 1e5


def test_bounds_are_recorded_for_tasks_whose_rewards_were_seen():
    agent = make_agent()
    state, metrics = run_burst(agent, fleet.init(agent, jnp.array([0])), make_replay(1), 1)
    low, high = np.asarray(metrics["q_lowest"][0]), np.asarray(metrics["q_highest"][0])
    np.testing.assert_array_equal(np.isnan(low), [False, False, True, True])
    assert len(low) == TASKS
    assert np.all(low[:2] < 0.0)
    assert np.all(high[:2] > 0.0)
    # Those of the critics, which may lag two thousand updates behind alpha.
    rewards, log_alpha = state.trainable.rewards["heads"], state.trainable.log_alpha["heads"]
    expected = agent.value_bounds(rewards, jnp.exp(log_alpha), 2.0)
    np.testing.assert_allclose([low[:2], high[:2]], [b[0, :2] for b in expected], rtol=1e-5)


@pytest.mark.parametrize("paid", [50.0, -50.0])
def test_a_reward_that_only_an_n_step_return_has_shown_is_not_clipped_away(paid):
    """The row before the first reward is drawn before the row that has it."""
    agent = make_agent(FineTuning(batch_size=8), n_step=5)
    trainable = one(fleet.init(agent, jnp.array([0]))).trainable
    replay = one(make_replay(1))
    replay = replay._replace(new=replay.new.at[:, REWARD:].set(0.0).at[10, REWARD].set(paid))
    view = make_view(0)
    bits = jnp.full(8, 7, jnp.uint32)  # row 7, whose return holds the reward of row 10
    batch = agent.method.sample(agent, (), replay, view, np.arange(1), bits)
    expected = agent.settings.sac.discount**3 * paid
    np.testing.assert_allclose(batch.future.returns, expected, rtol=1e-5)
    rewards = with_rewards(agent, trainable, batch).rewards["heads"]
    low, high = agent.value_bounds(rewards, jnp.zeros(TASKS), 1.0)
    assert low[0] <= batch.future.returns[0] <= high[0]
    # And nothing is allowed that the rewards do not.
    assert min(paid, 0.0) <= rewards.lowest[0]
    assert rewards.highest[0] <= max(paid, 0.0)
