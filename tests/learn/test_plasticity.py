"""Dormant units and ranks of networks made by hand, where the answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from recall.learn import fleet, plasticity
from recall.methods import FineTuning, PackNet
from recall.nets.multihead import MultiHead
from tests.factories.learners import (
    TASKS,
    flat,
    leaves_equal,
    make_agent,
    make_replay,
    make_view,
    run_burst,
)

KEYS = {"dormant_pi", "dormant_q", "rank_pi", "rank_q", "weight_norm_pi", "weight_norm_q"}
WIDTH = 16  # of both hidden layers of the small networks


def measured(agent, state, task=1, step=7, replay=None):
    runs = state.key.shape[0]
    replay = replay or make_replay(runs)
    found = fleet.plasticity(agent, state, replay, make_view(task), jnp.asarray(step))
    return jax.tree.map(np.asarray, found.with_ranks())


def silenced(network, actor, place, layer, units):
    """The actors [run] with some units of a layer giving 0 at `place`: a run, or run and task."""
    if not network.shared_layers:
        quiet = jax.tree.map(
            lambda leaf: leaf.at[(*place, ..., units)].set(0.0), actor["heads"][layer]
        )
        return actor | {"heads": actor["heads"] | {layer: quiet}}
    start, found = 0, np.array(actor["trunk"][place])
    for path, leaf in jax.tree_util.tree_leaves_with_path(
        jax.eval_shape(network.trunk_tree, found)
    ):
        if path[0].key == layer:
            found[start : start + leaf.size].reshape(leaf.shape)[..., units] = 0.0
        start += leaf.size
    return actor | {"trunk": actor["trunk"].at[place].set(found)}


def test_units_are_dormant_at_and_below_a_share_of_their_layers_mean():
    # Means of |h|: 4, 4 and at most 0.025 of the layer's mean; a negative output counts as much.
    rest = 0.025 * 8 / (3 - 0.025)
    outputs = jnp.array([[4.0, -6.0, rest], [4.0, 2.0, -0.99 * rest]])
    assert plasticity.dormant_share([outputs]) == pytest.approx(1 / 3)
    assert plasticity.dormant_share([outputs.at[1, 2].set(2 * rest)]) == 0
    dead = jnp.zeros((2, 5))
    assert plasticity.dormant_share([outputs, dead]) == pytest.approx(6 / 8)


@pytest.mark.parametrize(
    ("values", "rank"),
    [
        ([5.0, 0.0, 0.0, 0.0], 1),
        ([1.0, 1.0, 1.0, 1.0], 4),
        ([98.0, 0.99, 0.51, 0.5], 3),  # 98.99 % of the sum with two, 99.5 % with three
        ([99.1, 0.5, 0.2, 0.2], 1),
        ([0.0, 0.0, 0.0, 0.0], 0),
    ],
)
def test_rank_counts_the_singular_values_that_make_up_99_percent(values, rank):
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (9, 4))
    features = np.asarray(left[:, :4] * values @ right, np.float32)
    failed = np.full_like(features, np.nan)
    assert plasticity.effective_rank(np.stack([features, failed])).tolist() == [rank, 0]


def test_ranks_take_one_thread_because_workers_need_the_cores(monkeypatch):
    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    if not threads():
        pytest.skip("NumPy is built with a library whose threads cannot be set")
    during = set()
    decompose = np.linalg.svd

    def svd(*arguments, **options):
        during.update(threads())
        return decompose(*arguments, **options)

    monkeypatch.setattr(np.linalg, "svd", svd)
    with threadpool_limits(2, user_api="blas"):
        plasticity.effective_rank(np.eye(3)[None])
        assert threads() == {2}
    assert during == {1}


@pytest.mark.parametrize("shared", [0, 1])
def test_hidden_outputs_lead_to_the_networks_answer(shared):
    network = MultiHead(3, 2, TASKS, (5, 6, 7), shared)
    params = jax.jit(network.init)(jax.random.PRNGKey(0))
    x = np.random.default_rng(1).normal(size=(4, 3))
    hidden = jax.jit(network.hidden_outputs, static_argnums=2)(params, x, 2)
    assert [layer.shape for layer in hidden] == [(4, 5), (4, 6), (4, 7)]
    assert jnp.abs(hidden[0]).max() < 1  # LayerNorm and tanh
    assert hidden[1].min() == 0  # relu
    last = params["heads"]["out"]
    answer = np.asarray(hidden[-1]) @ last["kernel"][2] + last["bias"][2]
    expected = jax.jit(network.apply_head, static_argnums=2)(params, x, 2)
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sharing", ["shallow", "separate"])
def test_silenced_units_are_counted_and_take_their_rank_away(sharing):
    agent = make_agent(None if sharing == "shallow" else FineTuning(actor_heads=sharing))
    state = fleet.init(agent, jnp.arange(2))
    task, units = 1, [0, 3, 4, 7, 9]
    before = measured(agent, state, task)
    place = (0,) if sharing == "shallow" else (0, task)
    actor = silenced(agent.actor, state.trainable.actor, place, "hidden_01", units)
    changed = state._replace(trainable=state.trainable._replace(actor=actor))
    after = measured(agent, changed, task)
    assert before["dormant_pi"][0] == 0
    assert after["dormant_pi"][0] == pytest.approx(len(units) / (2 * WIDTH))
    assert after["rank_pi"][0] <= WIDTH - len(units) < before["rank_pi"][0]
    assert after["weight_norm_pi"][0] < before["weight_norm_pi"][0]
    unchanged = KEYS - {"dormant_pi", "rank_pi", "weight_norm_pi"}
    assert all(np.array_equal(after[name], before[name]) for name in unchanged)
    assert all(after[name][1] == before[name][1] for name in KEYS)  # the other run
    if sharing == "separate":  # another task has another network
        other = measured(agent, changed, task + 1)
        assert other["dormant_pi"][0] == 0


def test_weight_norm_is_of_the_shared_layers_and_the_current_head():
    agent = make_agent()
    state = fleet.init(agent, jnp.array([3, 4]))
    found = measured(agent, state, task=2)
    for run in range(2):
        actor = state.trainable.actor
        parts = [actor["trunk"][run], flat(actor["heads"], 2)[run, 2]]
        expected = np.linalg.norm(np.concatenate(parts))
        assert found["weight_norm_pi"][run] == pytest.approx(expected, rel=1e-5)
        critics = state.trainable.critic
        parts = [critics["trunk"][run].ravel(), flat(critics["heads"], 2)[run, 2]]
        expected = np.linalg.norm(np.concatenate(parts))
        assert found["weight_norm_q"][run] == pytest.approx(expected, rel=1e-5)


def test_a_method_that_masks_weights_is_measured_with_its_mask():
    agent = make_agent(PackNet())
    state = fleet.init(agent, jnp.array([0]))
    # No weight is the first tasks' own: nothing gets through.
    owners = state.method_state._replace(owners=jnp.full_like(state.method_state.owners, TASKS))
    found = measured(agent, state._replace(method_state=owners))
    assert found["dormant_pi"] == 1
    assert found["rank_pi"] == 0
    head = np.linalg.norm(flat(state.trainable.actor["heads"], 2)[0, 1])
    assert found["weight_norm_pi"] == pytest.approx(head, rel=1e-5)


def test_training_does_not_notice():
    agent, replay = make_agent(), make_replay(2)
    undisturbed, _ = run_burst(agent, fleet.init(agent, jnp.arange(2)), replay, 1)
    state = fleet.init(agent, jnp.arange(2))
    first, again = (measured(agent, state, replay=replay) for _ in range(2))
    assert leaves_equal(first, again)
    state, _ = run_burst(agent, state, replay, 1)
    assert leaves_equal(state, undisturbed)
