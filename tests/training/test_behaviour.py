"""Behaviour: which actions collect a task's first chunks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.learn import fleet
from recall.training.agents import agent_of
from recall.training.behaviour import Behaviour, only_random
from recall.training.progress import Progress
from tests.factories.fleets import small_spec


@pytest.mark.parametrize(
    ("changes", "random_steps"),
    [
        ({}, (100, 100)),
        ({"random_steps_after_copy": 0}, (100, 0)),
        ({"random_steps_after_copy": 50}, (100, 50)),
        ({"best_return": False, "random_steps_after_copy": 50}, (100, 100)),
    ],
    ids=["default", "copy", "copy, then random", "no copy"],
)
def test_the_first_actions_of_each_stage(changes, random_steps):
    spec = small_spec(**changes)
    agent, _ = agent_of(spec)
    behaviour, state = Behaviour(spec, agent), fleet.init(agent, jnp.array([0, 1]))
    for stage, expected in enumerate(random_steps):
        for steps in (0, 50, 100, 150):
            (policies,) = behaviour.policies(state, Progress(stage, steps)).values()
            assert (policies is None) == (steps < expected), (stage, steps)
        (ahead,) = behaviour.policies(state, Progress(stage, 50), ahead=50).values()
        assert ahead is not None


def test_the_actor_collects_and_not_its_average():
    spec = small_spec()
    agent, _ = agent_of(spec)
    state = fleet.init(agent, jnp.array([0, 1]))
    actor = jax.tree.map(lambda leaf: 2.0 * leaf, state.trainable.actor)
    state = state._replace(trainable=state.trainable._replace(actor=actor))
    (policies,) = Behaviour(spec, agent).policies(state, Progress(0, 200)).values()
    trunk = actor["trunk"]
    np.testing.assert_array_equal(policies[:, : trunk.shape[-1]], trunk)


def test_a_fleet_whose_policies_would_never_act_is_warned_of():
    assert only_random(small_spec()) is None
    told = only_random(small_spec(random_steps=300))
    assert "random_steps is 300, so all 300 steps of the first task are random" in told
    assert "such as random_steps 30" in told
    # All tasks are learnt in one stage, whose random steps count for all of them together.
    assert only_random(small_spec("multi_task", random_steps=300)) is None
