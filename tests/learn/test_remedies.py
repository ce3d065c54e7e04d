"""Remedies for plasticity: known answers by hand, and what they leave alone."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.config.resolve import resolve
from recall.errors import BadValueError
from recall.learn import fleet, recycling, remedies
from recall.learn.sac import LossInputs, critic_target, gradients_of, with_rewards
from recall.methods import FineTuning, PerfectMemory, Recall
from recall.nets.heads import take_heads
from recall.nets.multihead import MultiHead
from recall.settings import PlasticitySettings
from tests.factories.learners import (
    TASKS,
    copied,
    leaves_equal,
    make_agent,
    make_replay,
    one,
    run_burst,
    sampled,
)
from tests.factories.method_fleets import SETTINGS, SmallFleet, assert_same, small

REMEDIES = ("l2_init", "c_chain", "redo", "continual_backprop", "shrink_and_perturb")
# So that every burst of a small fleet recycles something.
BUSY = {
    "redo": {"redo_every": 2, "redo_tau": 0.9},
    "continual_backprop": {
        "continual_backprop_rate": 0.1,
        "continual_backprop_maturity": 1,
    },
}
NETWORK = MultiHead(3, 2, TASKS, (5, 6), 2)
SMALL = {"batch_size": 8, "old_batch_size": 8}


def treated(agent, remedy, **numbers):
    chosen = PlasticitySettings(remedy=remedy, **numbers)
    return replace(agent, settings=replace(agent.settings, plasticity=chosen))


def inputs_of(agent, task=1):
    """What the losses of one update of a first run share, and the batch's loss terms."""
    state = one(fleet.init(agent, jnp.array([0])))
    batch, noise, weights = sampled(agent, one(make_replay(1)), task)
    part = with_rewards(agent, take_heads(state.trainable, batch.heads), batch)
    return LossInputs(agent, state.method_state, batch, part, weights, noise), state


def moved(params, by):
    return jax.tree.map(lambda leaf: leaf + by, params)


# Every remedy beside every way of sampling and sharing.


@pytest.mark.slow
@pytest.mark.parametrize("remedy", REMEDIES)
@pytest.mark.parametrize("name", ["agem", "perfect_memory", "recall", "vcl"])
def test_a_treated_fleet_trains_and_its_equal_runs_stay_equal(remedy, name):
    chosen = PlasticitySettings(remedy=remedy, **BUSY.get(remedy, {}))
    run = SmallFleet(small(name), settings=replace(SETTINGS, plasticity=chosen))
    before = jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), run.state)
    for _ in range(min(2, run.task_schedule.stages)):
        run.start()
        run.burst()
        metrics = run.burst()
        run.end()
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), run.state) == before
    assert np.all(np.asarray(run.state.failed_at) == -1)
    first, twin, _ = (run.one_run(each)[0] for each in range(3))
    assert_same(first, twin)
    if remedy in BUSY:
        assert np.all(metrics["recycled_pi"] > 0)
        assert np.all(metrics["recycled_q"] > 0)


@pytest.mark.slow
@pytest.mark.parametrize("remedy", ["l2_init", "c_chain"])
@pytest.mark.parametrize("name", ["packnet", "ssde"])
def test_a_term_of_the_loss_moves_no_frozen_weight(remedy, name):
    numbers = {f"{remedy}_{'weight' if remedy == 'l2_init' else 'share'}": 10.0}
    chosen = PlasticitySettings(remedy=remedy, **numbers)
    run = SmallFleet(small(name, clip_norm=None), settings=replace(SETTINGS, plasticity=chosen))
    run.train()
    learned = run.policies(0)
    run.start()
    np.testing.assert_array_equal(run.policies(0), learned)
    run.burst()
    np.testing.assert_array_equal(run.policies(0), learned)
    assert not np.array_equal(run.policies(1), learned)


@pytest.mark.parametrize(
    ("method", "refused"),
    [
        ("packnet", ("shrink_and_perturb", "redo", "continual_backprop")),
        ("ssde", ("shrink_and_perturb", "redo", "continual_backprop")),
        ("cka_rl", ("l2_init", "shrink_and_perturb", "redo", "continual_backprop")),
        ("reset", ("l2_init", "shrink_and_perturb", "redo", "continual_backprop")),
        ("multi_task", ("shrink_and_perturb",)),
        ("ewc", ()),
    ],
)
def test_a_remedy_that_would_spoil_a_method_is_refused(method, refused):
    for remedy in REMEDIES:
        if remedy in refused:
            with pytest.raises(BadValueError, match=f"{remedy}.*{method}.*c_chain"):
                resolve(method, "cw3-1", changes={"remedy": remedy})
        else:
            resolve(method, "cw3-1", changes={"remedy": remedy})


def test_without_boundaries_no_task_starts():
    hidden = {"boundaries": "hidden"}
    with pytest.raises(BadValueError, match=r"shrink_and_perturb.*'hidden'"):
        resolve("fine_tuning", "cw3-1", changes=hidden | {"remedy": "shrink_and_perturb"})
    resolve("fine_tuning", "cw3-1", changes=hidden | {"remedy": "redo"})


def test_numbers_of_a_remedy_that_is_not_chosen_are_refused():
    with pytest.raises(BadValueError, match=r"redo_tau is 0\.2.*'l2_init'"):
        resolve("ewc", "cw3-1", changes={"remedy": "l2-init", "redo_tau": 0.2})


# Terms of the losses.


@pytest.mark.parametrize("method", [FineTuning(batch_size=8), Recall(**SMALL)])
def test_l2_init_adds_the_gradient_of_the_squared_distance(method):
    agent = treated(make_agent(method), "l2_init", l2_init_weight=0.5)
    inputs, state = inputs_of(agent)

    @jax.jit
    def added(actor):
        away = inputs._replace(trainable=inputs.trainable._replace(actor=actor))
        gradients, losses = gradients_of(away, critic_target(away))
        after, kept, metrics = remedies.add_terms(away, state.remedy, gradients, losses, None)
        assert kept is state.remedy
        return jax.tree.map(lambda new, old: new - old, after, gradients), metrics

    change, metrics = added(moved(inputs.trainable.actor, 0.25))
    size = state.trainable.actor["trunk"].size
    summed = sum(np.asarray(leaf) for leaf in jax.tree.leaves(change.actor["trunk"]))
    np.testing.assert_allclose(summed, 2 * 0.5 * 0.25, rtol=1e-4)
    assert all(not np.any(leaf) for leaf in jax.tree.leaves((change.actor["heads"], change.critic)))
    assert metrics["from_initial_pi"] == pytest.approx(0.25 * size**0.5, rel=1e-5)
    assert metrics["from_initial_q"] == 0


@pytest.mark.parametrize(
    "method",
    [
        Recall(**SMALL),
        pytest.param(FineTuning(batch_size=8), marks=pytest.mark.slow),
        pytest.param(PerfectMemory(batch_size=8), marks=pytest.mark.slow),
    ],
)
def test_churn_is_how_far_the_last_update_moved_the_outputs(method):
    agent = treated(make_agent(method), "c_chain")
    inputs, _ = inputs_of(agent)
    now, reference = inputs.trainable, inputs.batch
    still = remedies.Networks(now.actor, now.critic, now.popart)
    assert remedies.policy_churn(now.actor, inputs, still, reference) == 0
    assert remedies.value_churn(now.critic, inputs, still, reference) == pytest.approx(0, abs=1e-9)

    # With other biases of the last layer, every output moves by as much.
    def biased(params, by):
        heads = params["heads"]
        out = heads["out"] | {"bias": heads["out"]["bias"] + by}
        return params | {"heads": heads | {"out": out}}

    before = still._replace(actor=biased(now.actor, 0.3), critic=biased(now.critic, 0.2))
    found = remedies.policy_churn(now.actor, inputs, before, reference)
    assert found == pytest.approx(0.3**2, rel=1e-4)
    found = remedies.value_churn(now.critic, inputs, before, reference)
    assert found == pytest.approx(2 * 0.2**2, rel=1e-4)  # two critics


def test_values_that_only_their_scale_moved_are_no_churn():
    agent = treated(make_agent(Recall(**SMALL)), "c_chain")
    inputs, _ = inputs_of(agent)
    now = inputs.trainable
    statistics = now.popart["heads"]
    other = statistics._replace(mean=statistics.mean + 3.0, updates=statistics.updates + 1)
    scale, new = agent.scale(statistics), agent.scale(other)
    out = now.critic["heads"]["out"]
    ratio = (new.sigma / scale.sigma)[:, None, None]
    shift = ((new.mean - scale.mean) / scale.sigma)[:, None, None]
    before = {
        "kernel": out["kernel"] * jnp.ones_like(ratio)[..., None] / ratio[..., None],
        "bias": (out["bias"] - shift) / ratio,
    }
    critic = now.critic | {"heads": now.critic["heads"] | {"out": before}}
    still = remedies.Networks(now.actor, critic, {"heads": other})
    found = remedies.value_churn(now.critic, inputs, still, inputs.batch)
    assert found == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_the_first_update_of_a_turn_has_no_churn_and_later_ones_have():
    agent = treated(make_agent(FineTuning(batch_size=8)), "c_chain")
    found = [
        run_burst(agent, fleet.init(agent, jnp.arange(2)), make_replay(2), 0, updates)
        for updates in (1, 3)
    ]
    (first, alone), (last, several) = found
    np.testing.assert_array_equal(alone["churn_pi"], 0)
    assert np.all(several["churn_pi"] > 0)
    assert np.all(several["churn_q"] > 0)
    assert first.remedy.before is last.remedy.before is None
    plain = make_agent(FineTuning(batch_size=8))
    untreated, _ = run_burst(plain, fleet.init(plain, jnp.arange(2)), make_replay(2), 0, 1)
    assert leaves_equal(first.trainable, untreated.trainable)


# Edits of the weights.


def test_shrink_and_perturb_mixes_the_shared_layers_of_later_tasks_with_new_ones():
    numbers = {"shrink_and_perturb_kept": 0.75, "shrink_and_perturb_fresh": 0.5}
    agent = treated(make_agent(Recall(**SMALL)), "shrink_and_perturb", **numbers)
    without = treated(agent, "none")
    before = copied(fleet.start_task(without, fleet.init(agent, jnp.arange(2)), jnp.asarray(1)))
    after = fleet.start_task(agent, fleet.init(agent, jnp.arange(2)), jnp.asarray(1))
    first = fleet.start_task(agent, fleet.init(agent, jnp.arange(2)), jnp.asarray(0))
    assert leaves_equal(first, before)
    fresh = {}
    for name in ("actor", "critic", "target", "averaged"):
        old, new = (getattr(each.trainable, name) for each in (before, after))
        fresh[name] = (np.asarray(new["trunk"]) - 0.75 * old["trunk"]) / 0.5
        assert leaves_equal(new["heads"], old["heads"])
    np.testing.assert_allclose(fresh["target"], fresh["critic"], atol=1e-6)
    np.testing.assert_allclose(fresh["averaged"], fresh["actor"], atol=1e-6)
    drawn = agent.actor.trunk_tree(fresh["actor"][0])
    np.testing.assert_allclose(drawn["norm"]["scale"], 1, rtol=1e-5)
    kernel = np.asarray(drawn["hidden_01"]["kernel"])
    limit = np.sqrt(6 / sum(kernel.shape))  # Glorot's
    assert 0.8 * limit < np.abs(kernel).max() <= limit * (1 + 1e-5)
    assert np.abs(np.asarray(drawn["hidden_01"]["bias"])).max() < 1e-6


def with_dead_unit(params, layer, unit):
    """The network's parameters where a unit of a layer gives 0 for every input."""
    tree = NETWORK.trunk_tree(params["trunk"])
    dead = jax.tree.map(lambda leaf: leaf.at[..., unit].set(0.0), tree[layer])
    tree = tree | {layer: dead}
    return params | {"trunk": jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(tree)])}


def test_a_recycled_dead_unit_has_new_weights_in_and_none_out_and_changes_no_output():
    params = with_dead_unit(NETWORK.init(jax.random.PRNGKey(0)), "hidden_01", 4)
    x = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    fresh = NETWORK.init_trunk(jax.random.PRNGKey(1))
    outputs = NETWORK.hidden_outputs(params, x, 0)
    masks = [recycling.dormant(jnp.mean(jnp.abs(each), axis=0), 0.01) for each in outputs]
    assert [np.flatnonzero(mask).tolist() for mask in masks] == [[], [4]]
    after = recycling.with_new_units(NETWORK, params, masks, fresh)
    old, new, drawn = map(NETWORK.trunk_tree, (params["trunk"], after["trunk"], fresh))
    others = np.arange(6) != 4
    for part in ("kernel", "bias"):
        now = np.asarray(new["hidden_01"][part])
        np.testing.assert_array_equal(now[..., 4], drawn["hidden_01"][part][..., 4])
        np.testing.assert_array_equal(now[..., others], old["hidden_01"][part][..., others])
    assert leaves_equal(new["hidden_00"], old["hidden_00"])
    assert leaves_equal(new["norm"], old["norm"])
    out, before = after["heads"]["out"], params["heads"]["out"]
    assert np.all(np.asarray(out["kernel"])[:, 4] == 0), "in every head"
    np.testing.assert_array_equal(out["kernel"][:, others], before["kernel"][:, others])
    np.testing.assert_array_equal(out["bias"], before["bias"])
    for task in range(TASKS):
        answers = [NETWORK.apply_head(each, x, task) for each in (params, after)]
        np.testing.assert_allclose(*answers, rtol=1e-5, atol=1e-6)


def test_a_recycled_unit_of_the_first_layer_takes_its_normalisation_along():
    params = NETWORK.init(jax.random.PRNGKey(0))
    params = moved(params, 0.125)
    masks = [jnp.arange(5) == 2, jnp.zeros(6, bool)]
    after = recycling.with_new_units(NETWORK, params, masks, jnp.zeros_like(params["trunk"]))
    old, new = map(NETWORK.trunk_tree, (params["trunk"], after["trunk"]))
    assert np.all(np.asarray(new["norm"]["scale"] == 0) == masks[0])
    assert np.all(np.asarray(new["hidden_00"]["kernel"] == 0) == masks[0])
    assert np.all(np.asarray(new["hidden_01"]["kernel"] == 0) == masks[0][:, None])
    assert leaves_equal(after["heads"], params["heads"])
    assert leaves_equal(new["hidden_01"]["bias"], old["hidden_01"]["bias"])


def test_where_heads_are_deep_their_first_layer_loses_the_recycled_units_weights():
    network = MultiHead(3, 2, TASKS, (5, 6), 1)
    params = network.init(jax.random.PRNGKey(0))
    mask = jnp.arange(5) == 2
    after = recycling.with_new_units(network, params, [mask], params["trunk"])
    kernel = np.asarray(after["heads"]["hidden_00"]["kernel"])
    assert np.all((kernel == 0) == np.asarray(mask)[:, None])
    assert leaves_equal(after["heads"]["out"], params["heads"]["out"])


@pytest.mark.parametrize(
    "method", [FineTuning(batch_size=8), pytest.param(Recall(**SMALL), marks=pytest.mark.slow)]
)
def test_recycling_clears_the_moments_of_the_units_weights_and_leaves_targets_alone(method):
    # Every unit is at most as active as ten times the mean, and the second burst recycles.
    agent = treated(make_agent(method), "redo", redo_tau=10.0, redo_every=5)

    def trained(agent):
        state = fleet.init(agent, jnp.arange(2))
        for first in (0, 3):
            state, metrics = run_burst(agent, state, make_replay(2), 1, 3, first)
        return state.trainable, metrics

    (old, _), (new, metrics) = trained(treated(agent, "none")), trained(agent)
    shared = sum(agent.actor.hidden[: agent.actor.shared_layers])
    np.testing.assert_array_equal(metrics["recycled_pi"], shared)
    for moments in (new.actor_moments, new.critic_moments):
        for part in (moments.first, moments.second):
            assert not np.any(np.asarray(part["trunk"]))
    assert leaves_equal(new.actor_moments.steps, old.actor_moments.steps)
    assert leaves_equal(new.actor["heads"]["out"]["bias"], old.actor["heads"]["out"]["bias"])
    assert not np.any(np.asarray(new.actor["heads"]["out"]["kernel"]))
    for name in ("target", "averaged", "popart", "log_alpha", "alpha_moments"):
        assert leaves_equal(getattr(new, name), getattr(old, name)), name


def test_units_are_recycled_after_the_bursts_that_complete_the_interval():
    agent = treated(make_agent(FineTuning(batch_size=8)), "redo", redo_tau=10.0, redo_every=5)
    state, found = fleet.init(agent, jnp.arange(2)), [0]
    for first in (0, 3, 6, 9, 12):
        state, metrics = run_burst(agent, state, make_replay(2), 0, 3, first)
        found.append(int(metrics["recycled_q"][0]))
    # After 6, 12 and 15 updates. The count goes on, so that no record misses any.
    each = sum(agent.critic.hidden[: agent.critic.shared_layers])
    assert np.diff(found).tolist() == [0, each, 0, each, each]


def test_utility_is_a_running_mean_of_activity_times_outgoing_weights():
    params = NETWORK.init(jax.random.PRNGKey(0))
    hidden, last = recycling.outgoing(NETWORK, params, jnp.asarray(1))
    kernel = np.asarray(NETWORK.trunk_tree(params["trunk"])["hidden_01"]["kernel"])
    np.testing.assert_allclose(hidden, np.abs(kernel).sum(axis=1), rtol=1e-5)
    heads = np.asarray(params["heads"]["out"]["kernel"])
    np.testing.assert_allclose(last, np.abs(heads[:2]).sum(axis=(0, 2)), rtol=1e-5)


def test_the_least_useful_mature_unit_is_recycled():
    chosen = PlasticitySettings(
        remedy="continual_backprop",
        continual_backprop_rate=0.1,
        continual_backprop_decay=0.5,
        continual_backprop_maturity=8,
    )
    useful = jnp.array([4.0, 1.0, 0.0, 3.0, 2.0])  # the third is too young
    age = jnp.array([7.0, 7.0, 1.0, 7.0, 7.0])
    units = recycling.Units(useful, age, jnp.asarray(0.4))
    activity, weight = jnp.array([1.0, 4.0, 0.0, 1.0, 1.0]), jnp.full(5, 2.0)
    mask, after = recycling.least_useful(chosen, activity, weight, units, updates=2)
    # u <- u / 4 + 3/4 * 2 |h|
    utility = np.array([2.5, 6.25, 0.0, 2.25, 2.0])
    assert np.asarray(mask).tolist() == [False, False, False, False, True]
    np.testing.assert_allclose(after.utility, np.where(mask, 0.0, utility))
    np.testing.assert_allclose(after.age, [9, 9, 3, 9, 0])
    assert after.due == pytest.approx(0.4 + 0.1 * 2 * 4 - 1)
