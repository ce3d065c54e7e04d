import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.methods import Ewc, FineTuning, PerfectMemory, Recall
from recall.nets.heads import head_of
from tests.factories.learners import (
    REWARD,
    TASKS,
    copied,
    flat,
    leaves_equal,
    make_agent,
    make_replay,
    make_view,
    one,
    run_burst,
)

SMALL = {"batch_size": 8, "old_batch_size": 8}
PER_TASK = ("actor", "critic", "target")
MOMENTS = ("actor_moments", "critic_moments", "alpha_moments")


def heads_in(alphas):
    """[run, task, 1] of temperatures, or of their moments."""
    return (alphas if isinstance(alphas, dict) else alphas.first)["heads"][..., None]


@pytest.mark.parametrize(
    ("method", "task", "moved"),
    [
        pytest.param(FineTuning(batch_size=8), 2, {2}, marks=pytest.mark.slow),
        (Recall(**SMALL), 2, {0, 1, 2}),
        # Two groups at task 3: one update has the turn of two old tasks.
        pytest.param(Recall(**SMALL, max_old_tasks=2), 3, {0, 1, 3}, marks=pytest.mark.slow),
        pytest.param(Recall(**SMALL), 0, {0}, marks=pytest.mark.slow),
        pytest.param(Recall(**SMALL, distil_critics=False), 2, {0, 1, 2}, marks=pytest.mark.slow),
        (PerfectMemory(batch_size=64), 1, {0, 1}),
    ],
)
def test_only_heads_in_the_batch_change(method, task, moved):
    agent = make_agent(method)
    state = fleet.init(agent, jnp.array([0]))
    # Moments that would carry a head on even without a gradient.
    trainable = state.trainable
    trainable = trainable._replace(
        **{name: jax.tree.map(lambda leaf: leaf + 1, getattr(trainable, name)) for name in MOMENTS}
    )
    state = state._replace(trainable=trainable)
    before = copied(state.trainable)
    state, _ = run_burst(agent, state, make_replay(1), task, updates=1)
    after = copied(state.trainable)

    def changed(heads_of):
        old, new = (flat(heads_of(each), 2)[0] for each in (before, after))
        return {t for t in range(TASKS) if not np.array_equal(old[t], new[t])}

    for name in (*PER_TASK, "averaged"):
        assert changed(lambda each, name=name: getattr(each, name)["heads"]) == moved, name
    for name in ("actor_moments", "critic_moments"):
        assert changed(lambda each, name=name: getattr(each, name).first["heads"]) == moved, name
    learns = moved if method.sampling == "uniform" else {task}
    for name in ("log_alpha", "alpha_moments"):
        assert changed(lambda each, name=name: heads_in(getattr(each, name))) == learns, name
    followed = moved if method.normalise_targets else set()
    if getattr(method, "distil_critics", False):  # old values stay, and their scale with them
        followed = {task}
    assert changed(lambda each: [leaf[..., None] for leaf in each.popart["heads"]]) == followed


def test_equal_seeds_give_equal_bits_and_other_seeds_others():
    agent = make_agent()
    states = [
        run_burst(agent, fleet.init(agent, jnp.array([seed])), make_replay(1), 1)[0]
        for seed in (0, 0, 1)
    ]
    assert leaves_equal(states[0], states[1])
    assert not leaves_equal(states[0].trainable.actor, states[2].trainable.actor)


class Breaking(FineTuning):
    """Its own term is 0, with a slope that is no number."""

    def extra_actor_loss(self, agent, method_state, actor, batch, policy):
        return jnp.sqrt(jnp.sum(0.0 * actor["trunk"])), {}


class Undefined(FineTuning):
    """Its own term is no number, but its slope is."""

    def extra_critic_loss(self, agent, method_state, critic, batch, q):
        return jnp.nan + 0.0 * jnp.sum(critic["trunk"]), {}


@pytest.mark.parametrize("kind", [Breaking, Undefined])
def test_a_methods_own_term_that_is_no_number_or_has_no_slope_fails_the_run_at_once(kind):
    agent = make_agent(kind(batch_size=8))
    state = fleet.init(agent, jnp.array([0]))
    state, metrics = run_burst(agent, state, make_replay(1), 0, updates=1)
    assert np.isfinite([metrics["loss_q"][0], metrics["loss_pi"][0]]).all()
    assert fleet.failures(state.failed_at, ["only"]) == {"only": 0}


def test_bursts_count_as_one_long_burst():
    """Updates are numbered: three and three are the same as six, and compile once."""
    agent = make_agent()
    replay = make_replay(1)
    state = fleet.init(agent, jnp.array([0]))
    compiled = set()
    for first in (0, 3):
        state, _ = run_burst(agent, state, replay, 1, updates=3, first=first)
        compiled.add(fleet.burst._cache_size())
    assert len(compiled) == 1
    long, _ = run_burst(agent, fleet.init(agent, jnp.array([0])), replay, 1, updates=6)
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(long), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("copies", ["better_policy", "best_head"])
def test_best_return_start_copies_the_best_head_and_nothing_else(copies):
    agent = make_agent(dataclasses.replace(make_agent().method, copies=copies))
    state = fleet.init(agent, jnp.array([0, 1]))
    state, _ = run_burst(make_agent(), state, make_replay(2), 1)  # nothing is copied in it
    before = copied(state.trainable)
    state = fleet.copy_best(agent, state, jnp.asarray(2), jnp.array([1, -1]))
    after = copied(state.trainable)
    critics = copies == "best_head"
    for name in ("actor", "averaged", *(["critic", "target"] if critics else [])):
        old, new = getattr(before, name), getattr(after, name)
        np.testing.assert_array_equal(new["trunk"], old["trunk"])
        heads, old_heads = flat(new["heads"], 2), flat(old["heads"], 2)
        np.testing.assert_array_equal(heads[0, 2], old_heads[0, 1])
        assert not np.array_equal(old_heads[0, 2], old_heads[0, 1])
        for task in (0, 1, 3):
            np.testing.assert_array_equal(heads[0, task], old_heads[0, task])
        np.testing.assert_array_equal(heads[1], old_heads[1])  # -1: no copy
    for name in ("critic", "target", "critic_moments"):
        assert leaves_equal(getattr(before, name), getattr(after, name)) is (not critics)
    # The moments of what was copied begin anew, in the run that copies.
    assert not any(np.any(leaf[0]) for leaf in jax.tree.leaves(after.actor_moments))
    second = [jax.tree.map(lambda leaf: leaf[1], each.actor_moments) for each in (before, after)]
    assert leaves_equal(*second)
    for name in ("log_alpha", "alpha_moments", "rewards"):
        assert leaves_equal(getattr(before, name), getattr(after, name))
    # Nothing of the second task was learned, so its head's statistics are new in any case.
    assert leaves_equal(before.popart, after.popart)


@pytest.mark.parametrize("column", [0, REWARD])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_none_fails_its_run_alone(column, value):
    agent = make_agent()
    replay = make_replay(2)
    clean, _ = run_burst(agent, fleet.init(agent, jnp.array([0, 1])), replay, 1)
    dirty = replay._replace(new=replay.new.at[0, :, column].set(value))
    state, _ = run_burst(agent, fleet.init(agent, jnp.array([0, 1])), dirty, 1)
    assert fleet.failures(state.failed_at, ["first", "second"]) == {"first": 0}
    for a, b in zip(jax.tree.leaves(clean), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(np.asarray(a)[1], np.asarray(b)[1])
    assert fleet.failures(clean.failed_at, ["first", "second"]) == {}


def test_the_first_step_is_the_learning_rate_and_targets_follow_slowly():
    agent = make_agent(FineTuning(batch_size=8))
    state = fleet.init(agent, jnp.array([0]))
    before = copied(state.trainable)
    state, _ = run_burst(agent, state, make_replay(1), 0, updates=1)
    after = copied(state.trainable)
    for part in ("trunk", "heads"):
        moved = {name: flat(getattr(after, name)[part]) - flat(getattr(before, name)[part])
                 for name in PER_TASK}  # fmt: skip
        for name in ("actor", "critic"):
            assert np.abs(moved[name]).max() == pytest.approx(1e-3, rel=1e-3), (name, part)
        np.testing.assert_allclose(moved["target"], 0.005 * moved["critic"], rtol=2e-2, atol=5e-8)


def test_metrics_are_there_and_by_task():
    agent = make_agent()
    _, metrics = run_burst(agent, fleet.init(agent, jnp.array([0])), make_replay(1), 1)
    for name in ("loss_q", "loss_pi", "loss_alpha", "loss_distill", "grad_norm_pi", "grad_norm_q"):
        assert metrics[name].shape == (1,)
    for name in ("q_value", "entropy"):
        np.testing.assert_array_equal(np.isnan(metrics[name][0]), [False, False, True, True])
    for name in ("alpha", "mu", "sigma"):
        assert metrics[name].shape == (1, TASKS)


def test_old_critics_are_held_to_their_stored_values_whatever_the_rewards_say():
    """The value of an old row neither follows its reward nor its own bootstrapped target."""
    agent = make_agent(Recall(batch_size=8, old_batch_size=8))
    replay = make_replay(1)
    paid = replay._replace(old=replay.old.at[..., REWARD].set(1e4))

    def old_head(agent, replay):
        state = fleet.init(agent, jnp.array([0]))
        seen = state.trainable.popart["heads"]._replace(updates=jnp.ones((1, TASKS)))
        state = state._replace(trainable=state.trainable._replace(popart={"heads": seen}))
        state, _ = run_burst(agent, state, replay, 1)
        return head_of(one(state.trainable.critic["heads"]), 0)

    assert leaves_equal(old_head(agent, replay), old_head(agent, paid))
    bootstrapping = make_agent(Recall(batch_size=8, old_batch_size=8, distil_critics=False))
    assert not leaves_equal(old_head(bootstrapping, replay), old_head(bootstrapping, paid))


def test_the_average_follows_the_actor_and_is_what_is_evaluated():
    share = 0.25
    agent = make_agent(Recall(batch_size=8, old_batch_size=8, average_actor=share))
    state = fleet.init(agent, jnp.array([0]))
    before = copied(state.trainable.actor)
    state, _ = run_burst(agent, state, make_replay(1), 1, updates=1)
    trainable = copied(state.trainable)
    for part in ("trunk", "heads"):
        start, now = flat(before[part]), flat(trainable.actor[part])
        expected = start + share * (now - start)
        np.testing.assert_allclose(flat(trainable.averaged[part]), expected, rtol=1e-5, atol=1e-7)
    evaluated = fleet.flat_policies(agent, state, jnp.asarray(1))
    collecting = fleet.flat_policies(agent, state, jnp.asarray(1), collecting=True)
    trunk = trainable.averaged["trunk"].shape[-1]
    np.testing.assert_array_equal(evaluated[:, :trunk], trainable.averaged["trunk"])
    np.testing.assert_array_equal(collecting[:, :trunk], trainable.actor["trunk"])


def test_rows_of_every_old_task_count_as_much_as_the_new_ones_with_per_task():
    """The authors' loss: 1 new + k old + lambda KL, with nothing divided by 1 + k."""
    batch = type("B", (), {"new": jnp.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])})()
    weights = Recall(old_weight="per_task").row_weights(batch, jnp.asarray(3))
    np.testing.assert_allclose(weights, [0.5, 0.5, 0.75, 0.75, 0.75, 0.75])
    equal = Recall().row_weights(batch, jnp.asarray(3))
    np.testing.assert_allclose(equal, [0.25, 0.25, 0.125, 0.125, 0.125, 0.125])


@pytest.mark.parametrize(
    ("changes", "chosen", "expected"),
    [
        ({}, None, 1.0),
        ({"normalise_targets": True}, None, -5.0),
        ({"best_return": True}, None, -5.0),
        ({}, 0.5, 0.5),
        ({"normalise_targets": True, "best_return": True}, 0.5, 0.5),
    ],
)
def test_temperatures_start_where_targets_and_copied_heads_need_them(changes, chosen, expected):
    agent = make_agent(FineTuning(**changes), initial_log_alpha=chosen)
    assert agent.initial_log_alpha == expected


@pytest.mark.parametrize(("hook", "method"), [(fleet.archive, Recall()), (fleet.end_task, Ewc())])
def test_what_the_end_of_a_task_computes_is_as_precise_as_updates(hook, method):
    agent = make_agent(method)  # with precision="float32"
    state = fleet.init(agent, jnp.array([0]))
    program = hook.lower(agent, state, make_replay(1), make_view(1)).as_text()
    products = [line for line in program.splitlines() if "dot_general" in line]
    assert products
    assert all("HIGHEST, HIGHEST" in line for line in products)
