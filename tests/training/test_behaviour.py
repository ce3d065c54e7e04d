"""Behaviour: which actions collect a task's first chunks."""

import jax.numpy as jnp
import pytest

from recall.learn import fleet
from recall.training.agents import agent_of
from recall.training.behaviour import Behaviour
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
