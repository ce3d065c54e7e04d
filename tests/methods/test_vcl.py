"""VCL: the divergence, the draw, and SAC as its limit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.methods.vcl import SPREAD, Prior, Vcl, divergence
from recall.replay import buffer
from tests.factories.method_fleets import COLUMNS, SmallFleet, assert_same, gradients, leaves, small

KEY = jax.random.PRNGKey(7)


def test_the_divergence_of_gaussians():
    rng = np.random.default_rng(0)
    mean, log_std, old_mean, old_log_std = rng.normal(size=(4, 6))
    prior = Prior(jnp.asarray(old_mean), jnp.asarray(old_log_std), jnp.asarray(1.0))
    std, old_std = np.exp(log_std), np.exp(old_log_std)
    spread = (std**2 + (mean - old_mean) ** 2) / (2 * old_std**2)
    expected = np.sum(np.log(old_std / std) + spread - 0.5)
    np.testing.assert_allclose(divergence(mean, log_std, prior), expected, rtol=1e-5)
    itself = Prior(jnp.asarray(mean), jnp.asarray(log_std), jnp.asarray(1.0))
    np.testing.assert_allclose(divergence(mean, log_std, itself), 0.0, atol=1e-5)


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_the_prior_says_how_much_the_divergence_counts(weight):
    """KL(N(1, 1), N(0, 1)) is 1/2 for each of two weights; without a prior it counts for 0."""
    actor = {"trunk": jnp.ones(2), SPREAD: jnp.zeros(2)}
    prior = Prior(jnp.zeros(2), jnp.zeros(2), jnp.asarray(weight))
    loss, _ = Vcl(weight=2.0).extra_actor_loss(None, prior, actor, None, None)
    assert loss == weight * 2 * 0.5


def test_training_draws_weights_and_acting_uses_their_means():
    method = Vcl(initial_log_std=-1.0)
    actor = method.init_actor({"trunk": jnp.zeros(20_000), "heads": jnp.ones((2, 3))}, None)
    drawn = method.actor_for_training((), actor, jax.random.PRNGKey(0))
    assert abs(float(jnp.std(drawn["trunk"])) - np.exp(-1.0)) < 0.01
    acting = method.actor_for_task((), actor, jnp.asarray(0))
    assert set(acting) == {"trunk", "heads"}
    assert not np.any(acting["trunk"])
    np.testing.assert_array_equal(drawn["heads"], actor["heads"])


def test_without_divergence_and_spread_it_is_sac():
    """exp(-200) is 0 in float32: each draw is the mean."""
    found = []
    for method in (small("vcl", weight=0.0, initial_log_std=-200.0), small("fine_tuning")):
        run = SmallFleet(method)
        run.start()
        state, replay = run.one_run()
        batch = buffer.sample_new(
            replay, run.view(), COLUMNS, run.agent.n_step, jax.random.bits(KEY, (8,))
        )
        weights = method.row_weights(batch, jnp.asarray(0))
        batch = batch._replace(heads=np.arange(1))
        found.append(gradients(run.agent, state, batch, weights, KEY)[0])
    vcl, plain = found
    assert not np.any(vcl.actor.pop(SPREAD)), "a spread of 0 stays"
    for ours, theirs in zip(leaves(vcl), leaves(plain), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_posterior_becomes_the_prior_and_counts_from_then_on():
    run = SmallFleet(small("vcl"))
    assert (np.asarray(run.state.method_state.weight) == 0.0).all()
    run.pass_by()
    actor, prior = run.state.evaluated_actor, run.state.method_state
    assert_same((actor["trunk"], actor[SPREAD]), (prior.mean, prior.log_std))
    assert (np.asarray(prior.weight) == 1.0).all()
