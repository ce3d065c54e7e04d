"""CKA-RL: the mixture, the pool, and old tasks that later training cannot reach."""

import jax.numpy as jnp
import numpy as np
import pytest

from recall.methods.cka_rl import MIXTURE, Knowledge, add_vector, mixed
from tests.factories.method_fleets import TASKS, SmallFleet, small


def test_a_mixture_weighs_the_vectors_that_there_are():
    pool = jnp.array([[4.0, 0.0], [0.0, 8.0], [99.0, 99.0]])
    beta = jnp.array([0.0, np.log(3.0), 50.0])

    def of(filled: list[float]) -> np.ndarray:
        none = jnp.zeros((1, 2))
        return np.asarray(
            mixed(Knowledge(jnp.ones(2), pool, jnp.array(filled), none, jnp.asarray(2)), beta)
        )

    np.testing.assert_allclose(of([1.0, 1.0, 0.0]), [1.0 + 0.25 * 4, 1.0 + 0.75 * 8], rtol=1e-6)
    np.testing.assert_allclose(of([1.0, 0.0, 0.0]), [5.0, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(of([0.0, 0.0, 0.0]), [1.0, 1.0])


def test_a_full_pool_merges_its_most_similar_vectors():
    pool, filled = jnp.zeros((3, 3)), jnp.zeros(3)
    vectors = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.1, 0.0], [0.0, 0.0, 1.0])
    for number, vector in enumerate(vectors):
        pool, filled = add_vector(pool, filled, jnp.asarray(vector))
        assert float(filled.sum()) == min(number + 1, 3)
    expected = sorted([[2.0, 0.05, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(sorted(np.asarray(pool).tolist()), expected, rtol=1e-6)


@pytest.mark.parametrize("average_actor", [pytest.param(None, marks=pytest.mark.slow), 0.25])
def test_later_training_leaves_old_policies_alone_bit_for_bit(average_actor):
    run = SmallFleet(small("cka_rl", average_actor=average_actor, pool_size=1))
    policies = {}
    for task in range(TASKS):
        run.start()
        size = run.state.trainable.actor["trunk"].shape[1]
        before = np.asarray(run.state.method_state.base)
        if task:
            assert not np.any(run.state.trainable.actor["trunk"]), "a task adds to what there is"
        beta = np.asarray(run.state.trainable.actor[MIXTURE]["heads"])
        run.burst()
        moved = np.asarray(run.state.trainable.actor[MIXTURE]["heads"]) != beta
        assert not moved[:, np.arange(TASKS) != task].any()
        np.testing.assert_array_equal(run.state.method_state.base, before)
        for old, policy in policies.items():
            np.testing.assert_array_equal(run.policies(old), policy, err_msg=f"task {old}")
        acting = run.policies(task)
        run.end()
        policies[task] = run.policies(task)
        np.testing.assert_array_equal(policies[task], acting)
        if task == 0:
            np.testing.assert_array_equal(run.state.method_state.base, policies[0][:, :size])


@pytest.mark.slow
def test_a_task_learns_how_to_mix_two_vectors():
    run = SmallFleet(small("cka_rl"))
    for _ in range(TASKS - 1):
        run.train()
    # A second vector beside that of the second task, so that there is something to choose.
    own = run.state.method_state
    pool = own.pool.at[:, 1].set(jnp.flip(own.pool[:, 0], -1) + 0.1)
    filled = own.filled.at[:, 1].set(1.0)
    run.state = run.state._replace(method_state=own._replace(pool=pool, filled=filled))
    run.start()
    run.burst()
    beta = np.asarray(run.state.trainable.actor[MIXTURE]["heads"])[:, TASKS - 1]
    assert np.all(beta[:, :2] != 0.0)
    np.testing.assert_array_equal(beta[:, 2:], 0.0)
