"""pointworld: the known good behaviour succeeds, and rewards differ by a thousand in scale."""

import numpy as np
import pytest

from recall.errors import BadValueError
from recall.worlds import pointworld
from tests.factories.policies import expert_action


def play(task, policy, seed=0, slots=32):
    simulator = pointworld.make_simulator(task, slots)
    rng = np.random.default_rng(seed)
    observation = np.stack([simulator.reset(slot, rng) for slot in range(slots)])
    reached, total = np.zeros(slots, bool), np.zeros(slots)
    for _ in range(pointworld.HORIZON_STEPS):
        step = simulator.step(policy(observation))
        observation = step.observation
        reached |= step.success
        total += step.reward
    return reached, step.success, total


@pytest.mark.parametrize("task", pointworld.TASKS)
def test_the_expert_reaches_every_goal_and_stays(task):
    reached, last, total = play(task, lambda o: expert_action(task, o))
    assert reached.all()
    assert last.all()
    idle = play(task, lambda o: np.zeros((len(o), 2)))
    assert not idle[0].any()
    assert (total > idle[2]).all()


def test_another_tasks_expert_fails():
    """The tasks are in conflict: what is right in one is wrong in the next."""
    reached, _, _ = play("point-poor", lambda o: expert_action("point-rich", o))
    assert not reached.any()


def test_the_reward_by_hand():
    # At the goal: 1. At 0.15 from it: exp(-1) - 0.15.
    np.testing.assert_allclose(
        pointworld.reward(np.array([0.0, 0.15]), 1000.0),
        [1000.0, 1000.0 * (np.exp(-1.0) - 0.15)],
    )


def test_a_wall_takes_the_speed_of_what_runs_into_it():
    simulator = pointworld.make_simulator("point-rich", 1)
    simulator.reset(0, np.random.default_rng(0), {"rand_vec": [1.5, 0.0, 0.5, 0.5]})
    observation = simulator.step(np.array([[1.0, 0.0]])).observation[0]
    np.testing.assert_array_equal(observation[:4], [1.5, 0.0, 0.0, 0.0])


def test_a_start_and_goal_can_be_given():
    simulator = pointworld.make_simulator("point-rich", 1)
    observation = simulator.reset(0, np.random.default_rng(0), {"rand_vec": [0.1, 0.2, 0.3, 0.4]})
    np.testing.assert_array_equal(observation, [0.1, 0.2, 0.0, 0.0, 0.3, 0.4])
    with pytest.raises(BadValueError, match="expected 4 finite"):
        simulator.reset(0, np.random.default_rng(0), {"rand_vec": [0.1, np.nan, 0.3, 0.4]})
