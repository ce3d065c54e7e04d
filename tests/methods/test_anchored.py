"""EWC, L2 and MAS: importance by hand, and the quadratic that it weighs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.methods import L2, Ewc, Mas
from recall.methods._anchored import Anchor, Anchors, mean_of_rows, penalty
from recall.nets.gaussian import Gaussian
from recall.nets.heads import BatchLayout
from recall.replay.batch import Batch
from recall.replay.n_step import Future
from tests.factories.method_fleets import SmallFleet, small

A, B = 0.7, -0.4
STATES = np.array([0.0, 0.5, -1.0, 2.0], np.float32)


class TwoParameters:
    """mean = a x, std = exp(b x); Q = (a x u, b x u): everything can be done by hand."""

    def policy_of_task(self, actor, observation, task):
        a, b = actor["trunk"]
        return Gaussian(a * observation, b * observation)

    def q(self, critic, observation, action, rows):
        return critic["trunk"][:, 0, None] * (observation * action)[:, 0]


def batch_of(states: np.ndarray) -> Batch:
    size = len(states)
    column = jnp.asarray(states)[:, None]
    zeros = jnp.zeros(size)
    task = jnp.zeros(1, jnp.int32)
    future = Future(zeros, zeros, column)
    return Batch(column, column + 1.0, zeros, future, task, BatchLayout(size), zeros + 1, None)


def importances(method):
    actor = {"trunk": jnp.array([A, B]), "heads": jnp.zeros((1, 0))}
    critic = {"trunk": jnp.array([[A], [B]]), "heads": jnp.zeros((1, 2, 0))}
    agent, task, batch = TwoParameters(), jnp.asarray(0), batch_of(STATES)
    return (
        np.asarray(method.actor_importance(agent, actor, task, batch)),
        np.asarray(method.critic_importance(agent, critic, task, batch)),
    )


def test_ewc_importance_is_the_fisher_information():
    floor = 0.3
    actor, critic = importances(Ewc(importance_floor=floor))
    variance = np.exp(2 * B * STATES)
    # d mean / d a = x; d std / d b = x std, so the std term is 2 x^2 whatever the spread.
    of_a = np.maximum(STATES**2 / (variance + 1e-6), floor)
    of_b = np.maximum(2 * STATES**2 * variance / (variance + 1e-6), floor)
    np.testing.assert_allclose(actor, [of_a.mean(), of_b.mean()], rtol=1e-5)
    slope = STATES * (STATES + 1)
    np.testing.assert_allclose(critic, np.full((2, 1), np.mean(slope**2)), rtol=1e-5)


def test_ewc_importance_is_the_expected_square_of_the_score():
    """Against the definition: E_u (d log pi(u) / d theta)^2, drawn rather than derived."""
    state = np.float32(1.5)
    noise = np.random.default_rng(0).normal(size=400_000)
    std = np.exp(B * state)
    score_a = noise * state / std
    score_b = (noise**2 - 1.0) * state
    actor = {"trunk": jnp.array([A, B]), "heads": jnp.zeros((1, 0))}
    found = Ewc().actor_importance(TwoParameters(), actor, jnp.asarray(0), batch_of(state[None]))
    np.testing.assert_allclose(found, [np.mean(score_a**2), np.mean(score_b**2)], rtol=0.02)


def test_mas_importance_is_the_slope_of_the_outputs_length():
    actor, critic = importances(Mas())
    mean = np.tanh(A * STATES)
    slopes = [np.abs(2 * mean * (1 - mean**2) * STATES), 2 * np.abs(B) * STATES**2]
    np.testing.assert_allclose(actor, np.mean(slopes, axis=1), rtol=1e-5)
    product = STATES * (STATES + 1)
    np.testing.assert_allclose(critic[:, 0], 2 * np.abs([A, B]) * np.mean(product**2), rtol=1e-5)


def test_l2_finds_everything_equally_important():
    actor, critic = importances(L2())
    assert (actor == 1.0).all()
    assert (critic == 1.0).all()


def test_the_penalty_is_the_quadratic_and_pulls_back():
    anchor = Anchor(jnp.array([1.0, 2.0]), jnp.array([3.0, 0.0]))
    params = {"trunk": jnp.array([2.0, 9.0])}
    assert penalty(anchor, params) == 3.0
    slope = jax.grad(lambda trunk: penalty(anchor, {"trunk": trunk}))(params["trunk"])
    np.testing.assert_array_equal(slope, [6.0, 0.0])
    method, anchors = Ewc(weight=2.0, critic_weight=5.0), Anchors(anchor, anchor)
    for loss_of, weight in ((method.extra_actor_loss, 2.0), (method.extra_critic_loss, 5.0)):
        loss, metrics = loss_of(None, anchors, params, None, None)
        assert (loss, *metrics.values()) == (weight * 3.0, 3.0)


@pytest.mark.parametrize("rows", [1, 6, 8, 20])
def test_a_mean_of_rows_is_one_whatever_their_number(rows):
    values = jnp.arange(rows, dtype=jnp.float32)
    found = mean_of_rows(lambda value: jnp.stack([value, value**2]), values)
    np.testing.assert_allclose(found, [values.mean(), (values**2).mean()], rtol=1e-6)


class Echo(L2):
    """Finds everything as important as the batch is large, where a batch is a single number."""

    def actor_importance(self, agent, actor, task, batch):
        return jnp.full_like(actor["trunk"], batch)


def test_importance_is_the_mean_over_batches_that_are_each_drawn_anew():
    method, key = small(Echo, importance_batches=3), jax.random.PRNGKey(4)
    state, _ = SmallFleet(method).one_run()
    ended = method.on_task_end(None, state, 0, lambda size, key: jax.random.uniform(key), key)
    expected = np.mean([jax.random.uniform(each) for each in jax.random.split(key, 3)])
    np.testing.assert_allclose(ended.method_state.actor.importance, expected, rtol=1e-5)


def test_importance_adds_up_and_the_anchor_moves_on():
    run = SmallFleet(small("ewc", critic_weight=1.0))
    assert not np.any(run.state.method_state.actor.importance)
    assert not np.any(run.state.method_state.critic.importance)
    last = None
    for _ in range(2):
        run.pass_by()
        state, _ = run.one_run()
        anchors = state.method_state
        for anchor, params in ((anchors.actor, "actor"), (anchors.critic, "critic")):
            trunk = getattr(state.trainable, params)["trunk"]
            np.testing.assert_array_equal(anchor.trunk, trunk)
        if last is not None:
            assert np.all(anchors.actor.importance >= last.actor.importance + 0.99e-5)
            assert np.any(anchors.critic.importance > last.critic.importance)
        last = jax.tree.map(np.asarray, anchors)
    assert np.isfinite(last.actor.importance).all()
