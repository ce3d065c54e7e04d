"""Gradients of new and of old rows: apart, clipped apart, and together the gradient of all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet, turns
from recall.learn.sac import LossInputs, critic_target, gradients_of
from recall.methods import Recall
from recall.nets.heads import OldAndNew, joined
from recall.nets.optimiser import global_norm
from tests.factories.learners import (
    COLUMNS,
    copied,
    flat,
    make_agent,
    make_replay,
    one,
    run_burst,
    sampled,
)


def norm_of(tree):
    return np.sqrt(sum(float(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(tree)))


def with_scales(state):
    """Return the state of heads that were trained: their targets' scale is known, and 1."""
    statistics = state.trainable.popart["heads"]
    known = {"heads": statistics._replace(updates=statistics.updates + 1.0)}
    return state._replace(trainable=state.trainable._replace(popart=known))


def test_clipping_bounds_the_gradient():
    """Adam's first moments show the gradient that it got: a tenth of it after one update."""
    method = Recall(batch_size=8, old_batch_size=8, clip_norm=1e-3)
    agent = make_agent(method)
    state = fleet.init(agent, jnp.array([0]))
    state, metrics = run_burst(agent, state, make_replay(1), 0, updates=1)
    seen = {
        "pi": norm_of(state.trainable.actor_moments.first) / 0.1,
        "q": norm_of(state.trainable.critic_moments.first) / 0.1,
    }
    assert float(metrics["grad_norm_pi"][0]) > 1e-3
    np.testing.assert_allclose([seen["pi"], seen["q"]], 1e-3, rtol=1e-3)


def test_an_old_task_with_a_large_gradient_does_not_scale_down_the_new_one():
    """Whatever the old task's gradient, the new head gets its own, clipped by its own norm."""
    method = Recall(batch_size=8, old_batch_size=8, clip_norm=1e-2)
    agent = make_agent(method)
    replay = make_replay(1)
    means = np.arange(COLUMNS.width, COLUMNS.width + COLUMNS.action_size)
    values = means[-1] + COLUMNS.action_size + np.array([1, 2])  # behind the policy's spread
    stored = np.concatenate([means, values])  # old policies and values, far from today's
    far = replay._replace(old=replay.old.at[..., stored].multiply(1e3))
    new_heads, norms = [], []
    for each in (replay, far):
        state = with_scales(fleet.init(agent, jnp.array([0])))
        state, metrics = run_burst(agent, state, each, 1, updates=1)
        trainable = copied(state.trainable)
        new_heads.append([
            flat(getattr(trainable, name).first["heads"], 2)[0, 1]
            for name in ("actor_moments", "critic_moments")
        ])  # fmt: skip
        norms.append([float(metrics[f"old_grad_norm_{name}"][0]) for name in ("pi", "q")])
        for name in ("actor_moments", "critic_moments"):
            old_head = flat(getattr(trainable, name).first["heads"], 2)[0, 0]
            assert np.linalg.norm(old_head) / 0.1 <= 1.001e-2
    assert norms[1][0] > 100.0 * norms[0][0]
    assert norms[1][1] > 100.0 * norms[0][1]
    for before, after in zip(*new_heads, strict=True):
        assert np.any(before)
        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-9)


def test_one_bound_for_all_rows_scales_new_and_old_ones_alike():
    """The gradient that Adam gets is the unclipped one of all rows, scaled to the bound."""
    got = []
    for limit in (None, 1e-2):
        agent = make_agent(
            Recall(batch_size=8, old_batch_size=8, clip_norm=limit, clip_apart=False)
        )
        state = with_scales(fleet.init(agent, jnp.array([0])))
        state, _ = run_burst(agent, state, make_replay(1), 1, updates=1)
        got.append(copied(state.trainable))
    for name in ("actor_moments", "critic_moments"):
        whole, clipped = (getattr(each, name).first for each in got)
        norm = norm_of(whole) / 0.1
        assert norm > 1e-2
        for part in ("trunk", "heads"):
            for mine, theirs in zip(
                jax.tree.leaves(clipped[part]), jax.tree.leaves(whole[part]), strict=True
            ):
                np.testing.assert_allclose(mine, theirs * (1e-2 / norm), rtol=1e-3, atol=1e-9)


def test_gradients_of_new_and_old_rows_add_up_to_the_gradient_of_all():
    """Taking new and old rows apart changes nothing but the order of sums."""
    agent = make_agent()
    state = one(fleet.init(agent, jnp.array([0])))
    batch, noise, weights = sampled(agent, one(make_replay(1)), 1, key=1)

    def gradients(groups):
        def of(state):
            part = turns.take(state, batch.heads, groups).trainable
            inputs = LossInputs(agent, (), batch, part, weights, noise)
            return gradients_of(inputs, critic_target(inputs))[0]

        return jax.jit(of)(state)

    apart, together = gradients(1), gradients(0)
    for name in ("actor", "critic"):
        mine, whole = getattr(apart, name), getattr(together, name)
        assert isinstance(mine["trunk"], OldAndNew)
        assert np.any(mine["trunk"].old)
        assert np.any(mine["trunk"].new)
        np.testing.assert_allclose(
            mine["trunk"].old + mine["trunk"].new, whole["trunk"], rtol=1e-3, atol=1e-5
        )
        np.testing.assert_allclose(
            flat(joined(mine["heads"])), flat(whole["heads"]), rtol=1e-3, atol=1e-5
        )


@pytest.mark.parametrize("sizes", [(3, 5), (20_000,), (4, 20_000, 7, 30_000)])
def test_a_norm_is_that_of_all_numbers_in_small_arrays_and_large(sizes):
    rng = np.random.default_rng(0)
    tree = {str(n): rng.normal(size=size).astype(np.float32) for n, size in enumerate(sizes)}
    expected = np.linalg.norm(np.concatenate(list(tree.values())))
    assert float(global_norm(tree)) == pytest.approx(expected, rel=1e-5)
