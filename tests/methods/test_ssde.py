"""SSDE: the units of each task, sub-networks, and old tasks that later training cannot reach."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.methods.ssde import BETA, allocate, weights_between
from recall.nets.constants import NORM_EPSILON, SLOPES
from tests.factories.method_fleets import COLUMNS, TASKS, SmallFleet, small


def units_of(run: SmallFleet) -> list[np.ndarray]:
    """Inputs and each layer [task, width] of the first run, True where a task uses a unit."""
    return [np.asarray(layer)[0] > 0 for layer in run.state.method_state.units]


def test_a_task_takes_its_share_of_the_unused_units_and_then_used_ones():
    code = jnp.array([0.1, 0.9, 0.3, 0.8, 0.5, 0.7])
    used = jnp.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    for size, tasks_left, expected in (
        (4, 2, [1, 2, 3, 5]),  # two of the four unused ones
        (3, 4, [1, 2, 3]),  # one of them
        (2, 1, [1, 3]),  # all four, but at most half of its own units
        (5, 4, [1, 2, 3, 4, 5]),  # one of them, and two that fill up
    ):
        found = allocate(code, used, size, jnp.asarray(tasks_left))
        np.testing.assert_array_equal(np.flatnonzero(found), expected, err_msg=f"{size}")
    none_left = allocate(code, jnp.ones(6), 2, jnp.asarray(3))
    np.testing.assert_array_equal(np.flatnonzero(none_left), [1, 3])


def test_every_task_has_weights_of_its_own_and_later_ones_use_earlier_ones_too():
    run = SmallFleet(small("ssde"))
    owners = np.asarray(run.state.method_state.owners)[0]
    for task in range(TASKS):
        units = tuple(jnp.asarray(layer[task], float) for layer in units_of(run))
        assert [int(layer.sum()) for layer in units] == [COLUMNS.observation_size, 8, 8]
        mine = np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(weights_between(units))])
        owned = set(owners[mine > 0].tolist())
        assert task in owned
        assert owned <= set(range(task + 1))
        assert (len(owned) > 1) == (task > 0)


def by_hand(run: SmallFleet, task: int, x: np.ndarray) -> np.ndarray:
    """The outputs of a dense network that has the units of the task and no others."""
    network, actor = run.agent.actor, jax.tree.map(lambda leaf: leaf[0], run.state.evaluated_actor)
    tree = jax.tree.map(np.asarray, network.trunk_tree(actor["trunk"]))
    owners = network.trunk_tree(run.state.method_state.owners[0])
    beta = float(actor[BETA]["heads"][task])
    units = [layer[task] for layer in units_of(run)]
    for layer, (inputs, outputs) in enumerate(pairwise(units)):
        name = f"hidden_{layer:02}"
        frozen = np.asarray(owners[name]["kernel"]) < task
        kernel = np.where(frozen, beta, 1.0) * tree[name]["kernel"]
        x = x @ kernel[np.ix_(inputs, outputs)] + tree[name]["bias"][outputs]
        if layer == 0:
            normal = (x - x.mean(1, keepdims=True)) / np.sqrt(
                x.var(1, keepdims=True) + NORM_EPSILON
            )
            x = np.tanh(normal * tree["norm"]["scale"][outputs] + tree["norm"]["bias"][outputs])
        else:
            x = np.where(x > 0, x, SLOPES[network.activation] * x)
    head = jax.tree.map(lambda leaf: np.asarray(leaf[task]), actor["heads"]["out"])
    return x @ head["kernel"][units[-1]] + head["bias"]


def test_a_task_acts_with_a_dense_network_of_its_units():
    run = SmallFleet(small("ssde", average_actor=None))
    for _ in range(2):
        run.train()
    run.start()
    run.burst()
    x = np.random.default_rng(0).normal(size=(5, COLUMNS.observation_size)).astype(np.float32)
    own, actor = jax.tree.map(
        lambda leaf: leaf[0], (run.state.method_state, run.state.evaluated_actor)
    )
    for task in range(TASKS):
        acting = run.method.actor_for_task(own, actor, jnp.asarray(task))
        found = run.agent.actor.apply_head(acting, x, task)
        np.testing.assert_allclose(found, by_hand(run, task, x), rtol=1e-4, atol=1e-5)
        assert (float(actor[BETA]["heads"][task]) != 1.0) == (task > 0), "learned where it counts"


@pytest.mark.parametrize("actor_heads", ["shallow", "deep"])
def test_weights_outside_its_sub_network_do_not_reach_a_task(actor_heads):
    run = SmallFleet(small("ssde", average_actor=None, actor_heads=actor_heads))
    run.start()
    owners = run.state.method_state.owners
    found = [run.policies(task) for task in range(TASKS)]
    actor = run.state.trainable.actor
    trunk = jnp.where(owners == 1, 9.0, actor["trunk"])
    trainable = run.state.trainable._replace(actor=actor | {"trunk": trunk})
    run.state = run.state._replace(trainable=trainable)
    np.testing.assert_array_equal(run.policies(0), found[0])
    assert (run.policies(1) != found[1]).any()


@pytest.mark.parametrize("average_actor", [pytest.param(None, marks=pytest.mark.slow), 0.25])
def test_later_training_leaves_frozen_weights_and_old_policies_alone(average_actor):
    run = SmallFleet(small("ssde", average_actor=average_actor))
    owners = np.asarray(run.state.method_state.owners)
    policies, free = {}, []
    for task in range(TASKS):
        run.start()
        before = np.asarray(run.state.trainable.actor["trunk"])
        metrics = run.burst()
        trainable = run.state.trainable
        moved = np.asarray(trainable.actor["trunk"]) != before
        assert moved[owners == task].any()
        _, first, second = trainable.actor_moments
        for change in (moved, first["trunk"], second["trunk"]):
            assert not np.any(np.asarray(change)[owners != task])
        run.end()
        for old, policy in policies.items():
            np.testing.assert_array_equal(run.policies(old), policy, err_msg=f"task {old}")
        policies[task] = run.policies(task)
        free.append(metrics["free_share"])
        np.testing.assert_allclose(metrics["own_share"], (owners == task).mean(1), rtol=1e-6)
        np.testing.assert_allclose(free[-1], (owners > task).mean(1), rtol=1e-6)
    assert np.all(np.diff(np.stack(free), axis=0) < 0)


@pytest.mark.slow
def test_without_free_weights_a_task_trains_its_head_on_frozen_ones():
    run = SmallFleet(small("ssde", active_units=1.0))
    run.train()
    old = run.policies(0)
    run.start()
    before = run.state.trainable.actor
    trunk, heads = np.asarray(before["trunk"]), jax.tree.map(np.asarray, before["heads"])
    metrics = run.burst()
    after = run.state.trainable.actor
    assert not np.any(metrics["own_share"])
    np.testing.assert_array_equal(after["trunk"], trunk)
    assert np.any(np.asarray(after["heads"]["out"]["kernel"]) != heads["out"]["kernel"])
    assert np.all(np.asarray(after[BETA]["heads"])[:, 1] != 1.0)
    np.testing.assert_array_equal(run.policies(0), old)
