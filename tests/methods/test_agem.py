"""A-GEM: the projected gradient and the memory's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.methods.agem import inner, project
from recall.replay import buffer
from tests.factories.method_fleets import COLUMNS, SmallFleet, gradients, leaves, small


def trees(seed: int):
    rng = np.random.default_rng(seed)
    shapes = {"actor": (5,), "critic": (2, 3)}
    return [{name: jnp.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}
            for _ in range(2)]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_no_step_goes_against_the_memory(seed):
    new, reference = trees(seed)
    product = inner(new, reference)
    projected, violation = project(new, reference)
    assert violation == (product < 0)
    assert inner(projected, reference) >= -1e-5
    if product >= 0:
        jax.tree.map(np.testing.assert_array_equal, projected, new)
    else:
        # The nearest such gradient: only the component along the reference is gone.
        change = jax.tree.map(lambda a, b: a - b, projected, new)
        cosine = inner(change, reference) ** 2 / inner(change, change)
        np.testing.assert_allclose(cosine, inner(reference, reference), rtol=1e-4)


def test_a_memory_without_an_opinion_changes_nothing():
    new, reference = trees(0)
    zeros = jax.tree.map(jnp.zeros_like, reference)
    projected, violation = project(new, zeros)
    jax.tree.map(np.testing.assert_array_equal, projected, new)
    assert violation == 0


def test_in_an_update_the_new_halfs_gradient_is_projected_against_the_old_halfs():
    run = SmallFleet(small("agem"))
    run.pass_by()
    run.start()
    state, replay = run.one_run()
    bits = jax.random.bits(jax.random.PRNGKey(1), (16,))
    batch = buffer.sample_balanced(
        replay, run.view(), COLUMNS, run.agent.n_step, 8, np.arange(2), bits
    )
    key = jax.random.PRNGKey(2)

    def gradients_for(weights):
        return gradients(run.agent, state, batch, weights, key)[0]

    weights = run.method.row_weights(batch, jnp.asarray(1))
    assert (np.asarray(weights)[8:] == 0).all(), "the memory is not learned from"
    new, old = gradients_for(weights), gradients_for((1.0 - batch.new) / 8)
    for sign in (1.0, -1.0):
        # One of the two signs is a violation, whatever this batch says.
        start = jax.tree.map(lambda leaf, s=sign: s * leaf, new)
        edited, metrics = run.method.edit_gradients((), start, batch, gradients_for)
        expected, _ = project((start.actor, start.critic), (old.actor, old.critic))
        for ours, theirs in zip(
            leaves((edited.actor, edited.critic)), leaves(expected), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
        before = inner((start.actor, start.critic), (old.actor, old.critic))
        assert metrics["violation"] == (before < 0)
        np.testing.assert_array_equal(edited.log_alpha["heads"], start.log_alpha["heads"])
