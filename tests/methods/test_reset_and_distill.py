"""Reset & Distill and FAME: learners without a past, and students that keep what they knew."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.learn.method import Gradients
from recall.methods.reset_and_distill import STUDENT
from recall.nets.optimiser import global_norm
from tests.factories.method_fleets import SmallFleet, assert_same, small


def at_second_task(bursts: int) -> SmallFleet:
    run = SmallFleet(small("reset_and_distill"))
    run.start()
    for _ in range(bursts):
        run.burst()
    run.end()
    run.start()
    return run


@pytest.mark.slow
def test_a_learner_knows_nothing_of_earlier_tasks_and_the_student_does():
    one, other = at_second_task(0), at_second_task(3)
    for network in ("actor", "critic", "target"):
        trunks = [getattr(run.state.trainable, network)["trunk"] for run in (one, other)]
        np.testing.assert_array_equal(*trunks, err_msg=network)
    assert not np.array_equal(*(run.policies(0) for run in (one, other)))
    critic, target = other.state.trainable.critic, other.state.trainable.target
    np.testing.assert_array_equal(critic["trunk"], target["trunk"])


def test_the_learner_acts_on_its_task_and_the_student_on_those_before():
    run = SmallFleet(small("reset_and_distill", average_actor=None, retraining_updates=0))
    run.start()
    run.burst()
    actor = run.state.trainable.actor
    size = actor["trunk"].shape[1]
    np.testing.assert_array_equal(run.policies(0)[:, :size], actor["trunk"])
    assert not np.array_equal(actor["trunk"], actor[STUDENT]["trunk"])
    run.end()
    actor = run.state.trainable.actor
    np.testing.assert_array_equal(run.policies(0)[:, :size], actor[STUDENT]["trunk"])
    np.testing.assert_array_equal(run.policies(1)[:, :size], actor["trunk"])


@pytest.mark.parametrize("size", [1.0, 1e15, 1e25])  # squares of the last overflow
def test_a_steep_student_is_bounded_apart_from_the_learner(size):
    run = SmallFleet(small("reset_and_distill"))
    actor = run.one_run()[0].trainable.actor
    ones = jax.tree.map(jnp.ones_like, actor)
    steep = ones | {STUDENT: jax.tree.map(lambda leaf: size * leaf, ones[STUDENT])}
    edited, _ = run.method.edit_gradients((), Gradients(steep, {}, {}), None)
    assert global_norm(edited.actor[STUDENT]) < 0.1001
    for name in ("trunk", "heads"):
        assert_same(edited.actor[name], ones[name])


@pytest.mark.slow
def test_the_student_comes_to_act_like_the_learner_and_stays_so_on_old_tasks():
    run = SmallFleet(small("reset_and_distill", retraining_updates=0))
    run.start()
    first = run.burst()["loss_distill_new"]
    for _ in range(150):
        last = run.burst()["loss_distill_new"]
    assert np.all(np.asarray(last) < 0.2 * np.asarray(first))
    run.end()
    run.start()
    for _ in range(150):
        metrics = run.burst()
    assert np.all(np.asarray(metrics["loss_distill_old"]) < 0.2 * np.asarray(first))
    assert np.all(np.asarray(metrics["loss_distill_new"]) < np.asarray(first))
    assert jnp.all(run.state.failed_at < 0)


@pytest.mark.slow
def test_fame_starts_as_the_meta_learner_with_the_chosen_policy_or_anew():
    run = SmallFleet(small("fame", average_actor=None))
    for _ in range(2):
        run.train()
    run.start()
    fresh = run.policies(2)
    chosen = jnp.array([-1, 0, 1])
    run.state = fleet.copy_best(run.agent, run.state, jnp.asarray(2), chosen)
    now = run.policies(2)
    np.testing.assert_array_equal(now[0], fresh[0])
    np.testing.assert_array_equal(now[1], run.policies(0)[1])
    np.testing.assert_array_equal(now[2], run.policies(1)[2])
    assert not np.array_equal(now[1:], fresh[1:])
