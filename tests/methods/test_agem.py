"""A-GEM: the projected gradient and the memory's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.methods.agem import inner, project
from recall.nets.heads import joined
from recall.replay import buffer
from tests.factories.learners import flat
from tests.factories.method_fleets import COLUMNS, SmallFleet, gradients, small


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


def signed_new(gradient, sign):
    """The gradient with that of the new rows multiplied by `sign`."""
    return {
        name: part._replace(new=jax.tree.map(lambda leaf: sign * leaf, part.new))
        for name, part in gradient.items()
    }


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

    def of_actor_and_critic(weights, apart=False):
        found, _ = gradients(run.agent, state, batch, weights, jax.random.PRNGKey(2), apart)
        return found._replace(log_alpha={"heads": jnp.zeros(2)})

    weights = run.method.row_weights(batch, jnp.asarray(1))
    found = of_actor_and_critic(weights, apart=True)
    new, old = (of_actor_and_critic(rows / 8) for rows in (batch.new, 1.0 - batch.new))
    for sign in (1.0, -1.0):
        # One of the two signs is a violation, whatever this batch says.
        start = jax.tree.map(lambda leaf, s=sign: s * leaf, new)
        expected, violation = project((start.actor, start.critic), (old.actor, old.critic))
        signed = found._replace(
            actor=signed_new(found.actor, sign), critic=signed_new(found.critic, sign)
        )
        edited, metrics = run.method.edit_gradients((), signed, batch)
        assert metrics["violation"] == violation
        for ours, theirs in zip((edited.actor, edited.critic), expected, strict=True):
            np.testing.assert_allclose(ours["trunk"], theirs["trunk"], rtol=1e-4, atol=1e-6)
            heads = joined(ours["heads"])
            np.testing.assert_allclose(flat(heads), flat(theirs["heads"]), rtol=1e-4, atol=1e-6)
