"""Which rows a batch has, and what is stored with those of old tasks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.nets.heads import BatchLayout, take_heads
from recall.replay import buffer
from recall.replay.batch import ReplayView
from recall.replay.history import rows_held
from recall.replay.n_step import NStep
from tests.factories.learners import (
    COLUMNS,
    REWARD,
    TASKS,
    drawn,
    make_agent,
    make_replay,
    make_view,
    one,
)

FILLED = np.array([3, 5, 4, 9])  # rows of three old tasks and of the current one
VIEW = ReplayView(*map(jnp.asarray, (3, FILLED[3], FILLED, FILLED, 1)))
ONE_STEP = NStep(1, 0.99)


def numbered_rows() -> tuple[buffer.Replay, list[np.ndarray]]:
    """Rewards that tell where a row comes from: 100 task + slot, and -1 in what is not filled."""
    slots = np.arange(20)
    numbered = [np.where(slots < size, 100 * task + slots, -1) for task, size in enumerate(FILLED)]
    replay = buffer.init(COLUMNS, 20, 3, 20, runs=1)
    replay = jax.tree.map(lambda leaf: np.array(leaf[0]), replay)
    replay.old[..., REWARD] = numbered[:3]
    replay.old[..., COLUMNS.width] = numbered[:3]  # the first number of the stored policy
    replay.new[..., REWARD] = numbered[3]
    of_tasks = [rewards[:size] for rewards, size in zip(numbered, FILLED, strict=True)]
    return jax.tree.map(jnp.asarray, replay), of_tasks


def test_every_row_that_is_stored_is_as_likely_as_any_other():
    """Bits that count up draw every one of the 21 rows as often, each with its own head."""
    replay, of_tasks = numbered_rows()
    bits = jnp.arange(4 * FILLED.sum(), dtype=jnp.uint32)
    batch = drawn(buffer.sample_uniform, replay, VIEW, COLUMNS, ONE_STEP, bits)
    rewards, heads = np.asarray(batch.reward), np.asarray(batch.layout.head_of_row)
    for task, expected in enumerate(of_tasks):
        np.testing.assert_array_equal(np.sort(rewards[heads == task]), expected.repeat(4))
    np.testing.assert_array_equal(batch.new, heads == 3)
    old = heads < 3
    np.testing.assert_array_equal(batch.stored.policy.mean[old, 0], rewards[old])


def test_the_old_half_has_rows_of_its_tasks_below_what_they_hold():
    replay, of_tasks = numbered_rows()
    bits = jax.random.bits(jax.random.PRNGKey(0), (50 + 2 * 40,))
    for heads in (np.array([0, 2, 3]), jnp.array([2, 1, 3])):
        batch = drawn(buffer.sample_balanced, replay, VIEW, COLUMNS, ONE_STEP, 50, heads, bits)
        groups = np.split(np.asarray(batch.reward), [50, 90])
        for task, rewards in zip([3, *heads[:2]], groups, strict=True):
            assert set(rewards) == set(of_tasks[int(task)])
        old = batch.reward[50:]
        np.testing.assert_array_equal(batch.stored.policy.mean[50:, 0], old)
        np.testing.assert_array_equal(batch.layout.head_of_row, [2] * 50 + [0] * 40 + [1] * 40)
        np.testing.assert_array_equal(batch.new, [1.0] * 50 + [0.0] * 80)


def test_what_is_kept_has_the_policy_and_the_raw_values_of_its_own_task():
    agent = make_agent()
    state = fleet.init(agent, jnp.array([3]))
    statistics = state.trainable.popart["heads"]._replace(
        mean=jnp.full((1, TASKS), 7.0), variance=jnp.full((1, TASKS), 9.0)
    )
    # The average and the actor differ: what is stored is the average's.
    trainable = state.trainable._replace(
        popart={"heads": statistics},
        actor=jax.tree.map(lambda leaf: 2.0 * leaf, state.trainable.actor),
    )
    state = state._replace(trainable=trainable)
    replay = make_replay(1)
    before = np.array(replay.old[0])
    rows = np.array(replay.new[0])
    kept = fleet.archive(agent, state, replay, make_view(1)).old[0]
    actor = one(trainable.averaged)
    policy = agent.policy_of_task(actor, rows[:, : COLUMNS.observation_size], 1)
    np.testing.assert_array_equal(kept[1, :, : COLUMNS.width], rows)
    stored = buffer.stored_outputs(COLUMNS, kept[1])
    np.testing.assert_allclose(stored.policy.mean, policy.mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(stored.policy.log_std, policy.log_std, rtol=1e-4, atol=1e-6)
    observation, action, *_ = COLUMNS.split(rows)
    critic = take_heads(one(trainable.critic), jnp.array([1]))
    q = agent.q(critic, observation, action, BatchLayout(len(rows)))
    np.testing.assert_allclose(stored.q, 3.0 * q + 7.0, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(kept[jnp.array([0, 2])], before[[0, 2]])


@pytest.mark.parametrize(
    ("capacity", "steps_per_task", "memory_per_task", "held"),
    [
        (1_000, 500, None, (500, 500)),
        (300, 500, None, (300, 300)),
        (300, 500, 100, (300, 100)),
        (300, 500, 400, (300, 300)),
        (1_000, 500, 0, (500, 0)),
    ],
)
def test_replay_holds_no_more_than_its_capacity_the_task_and_the_memory(
    capacity, steps_per_task, memory_per_task, held
):
    assert rows_held(capacity, steps_per_task, memory_per_task) == held
