"""PackNet: shares, freezing, and old tasks that later training cannot reach."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.methods.packnet import FROZEN, Owners, PackNet, layout, release
from tests.factories.method_fleets import SETTINGS, TASKS, SmallFleet, agent_of, small


def test_the_layout_is_that_of_the_flat_trunk():
    agent = agent_of(small("packnet"))
    parts = layout(agent)
    size = jax.eval_shape(agent.actor.init, jax.random.PRNGKey(0))["trunk"].size
    trunk = jnp.arange(size)
    tree = agent.actor.trunk_tree(trunk)
    assert parts[-1][2] == trunk.size
    assert [end for _, _, end in parts[:-1]] == [start for _, start, _ in parts[1:]]
    assert sum(kernel for kernel, _, _ in parts) == len(SETTINGS.network.hidden)
    kernels = [trunk[start:end] for kernel, start, end in parts if kernel]
    for index, kernel in enumerate(kernels):
        np.testing.assert_array_equal(kernel, tree[f"hidden_{index:02}"]["kernel"].ravel())


def test_the_smallest_weights_are_released_and_everyone_gets_an_equal_share():
    weights = jnp.asarray(np.random.default_rng(0).normal(size=120), jnp.float32)
    owners = jnp.zeros(120, jnp.int32)
    for task, left in ((0, 2), (1, 1), (2, 0)):
        released = np.asarray(release(weights, owners, jnp.asarray(task), jnp.asarray(left)))
        mine = np.asarray(owners) == task
        kept = mine & ~released
        assert kept.sum() == 40
        assert not released[~mine].any()
        if released.any():
            assert np.abs(weights[released]).max() <= np.abs(weights[kept]).min()
        owners = jnp.where(released, task + 1, owners)
    assert np.bincount(owners).tolist() == [40, 40, 40]


def test_equal_weights_are_shared_out_too():
    released = release(jnp.ones(10), jnp.zeros(10, jnp.int32), jnp.asarray(0), jnp.asarray(1))
    assert np.sum(released) == 5


def test_a_task_acts_with_its_own_weights_and_those_of_earlier_tasks():
    owners = Owners(jnp.array([FROZEN, 0, 1, 2]))
    actor = {"trunk": jnp.arange(1.0, 5.0), "heads": None}
    found = PackNet().actor_for_task(owners, actor, 1)
    np.testing.assert_array_equal(found["trunk"], [1.0, 2.0, 3.0, 0.0])


@pytest.mark.parametrize("average_actor", [pytest.param(None, marks=pytest.mark.slow), 0.25])
def test_later_training_leaves_frozen_weights_and_old_policies_alone(average_actor):
    """Bit for bit, through training, pruning and retraining of every later task."""
    method = small("packnet", average_actor=average_actor)
    run = SmallFleet(method)
    kernel_parts = [(start, end) for kernel, start, end in layout(run.agent) if kernel]
    is_kernel = np.zeros(run.state.method_state.owners.shape[1], bool)
    for start, end in kernel_parts:
        is_kernel[start:end] = True
    policies, frozen = {}, {}
    for task in range(TASKS):
        run.start()
        before = np.asarray(run.state.trainable.actor["trunk"])
        run.burst()
        trained = np.asarray(run.state.trainable.actor["trunk"])
        for old, policy in policies.items():
            np.testing.assert_array_equal(run.policies(old), policy, err_msg=f"task {old}")
        run.end()
        trunk = np.asarray(run.state.evaluated_actor["trunk"])
        owners = np.asarray(run.state.method_state.owners)
        moved = before != trained
        assert moved[:, is_kernel].any(), "the task's own weights learn"
        assert moved[:, ~is_kernel].any() == (task == 0), "biases and LayerNorm freeze after it"
        assert (owners[:, ~is_kernel] == FROZEN).all()
        for start, end in kernel_parts:
            shares = [(owners[0, start:end] == each).sum() for each in range(task + 1)]
            assert max(shares) - min(shares) <= TASKS, "equal shares, up to rounding"
        if task < TASKS - 1:
            kept = owners == task
            assert (trunk[owners == task + 1] == 0.0).all(), "what is handed on is empty"
            assert (trunk[kept] != trained[kept]).any(), "retraining moves the kept weights"
        for old, (mask, values) in frozen.items():
            np.testing.assert_array_equal(trunk[mask], values, err_msg=f"weights of task {old}")
        for old, policy in policies.items():
            np.testing.assert_array_equal(run.policies(old), policy, err_msg=f"task {old}")
        mask = (owners == task) | (owners == FROZEN)
        frozen[task], policies[task] = (mask, trunk[mask]), run.policies(task)
    assert len(policies) == TASKS
