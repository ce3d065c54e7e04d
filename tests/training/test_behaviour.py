"""Behaviour: which actions collect a task's first chunks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.errors import BadValueError
from recall.learn import fleet
from recall.training.agents import agent_of
from recall.training.behaviour import Behaviour, only_random
from recall.training.progress import Progress
from tests.factories.fleets import small_spec

RANDOM, OLD, NEW = "random", "old head", "new head"


@pytest.mark.parametrize(
    ("changes", "second"),
    [
        # Chunks that are ordered before the choice, at 200, do not know of it.
        ({}, [RANDOM, OLD, RANDOM, OLD, RANDOM, OLD, NEW]),
        ({"policy_lag": 0}, [RANDOM, OLD, RANDOM, OLD, RANDOM, NEW, NEW]),
        ({"copies": "best_head"}, [OLD, OLD, OLD, OLD, OLD, OLD, NEW]),
        ({"best_return": False}, [RANDOM, RANDOM, RANDOM, RANDOM, NEW, NEW, NEW]),
    ],
    ids=["default", "no lag", "paper", "no copy"],
)
def test_the_first_actions_of_each_stage(changes, second):
    """Episodes have 50 steps, like chunks; 200 steps come before the task's own policy."""
    spec = small_spec(random_steps=200, **changes)
    agent, _ = agent_of(spec)
    behaviour, state = Behaviour(spec, agent), fleet.init(agent, jnp.array([0, 1]))
    old = fleet.flat_policies(agent, state, jnp.asarray(0))

    def who(stage, steps, ahead=0):
        (policies,) = behaviour.policies(state, Progress(stage, steps), ahead).values()
        if policies is None:
            return RANDOM
        return OLD if stage and np.array_equal(policies, old) else NEW

    steps = range(0, 350, 50)
    assert [who(0, each) for each in steps] == [RANDOM] * 4 + [NEW] * 3
    assert [who(1, each) for each in steps] == second
    assert [who(1, each - 50, ahead=50) for each in steps if each] == second[1:]


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


@pytest.mark.parametrize(("random_steps", "expected"), [(0, 100), (120, 150), (200, 200)])
def test_every_old_head_has_a_turn_and_turns_are_whole_chunks(random_steps, expected):
    spec = small_spec(random_steps=random_steps)
    behaviour = Behaviour(spec, agent_of(spec)[0])
    assert behaviour.turns(1).steps == expected
    assert behaviour.turns(0).steps == random_steps


def test_a_replay_that_cannot_hold_the_turns_is_refused():
    spec = small_spec(random_steps=200, replay_capacity=100)
    with pytest.raises(BadValueError, match="replay_capacity is 100"):
        Behaviour(spec, agent_of(spec)[0])
    Behaviour(small_spec("fine_tuning", random_steps=200, replay_capacity=100), agent_of(spec)[0])
