"""Rolls compute rewards after the last step, and collect what single steps collect."""

import numpy as np
import pytest

from recall.collect.rolling import Actor, roll
from recall.collect.transition import Columns
from recall.settings import WorldSettings
from recall.worlds.continual_world import TASKS
from recall.worlds.episodes import Episodes
from recall.worlds.registry import make_simulator

STEPS, HORIZON = 20, 12  # an episode ends within the chunk
COLUMNS = Columns(12, 4)
DRAWS = np.random.default_rng(0).uniform(-1.0, 1.0, (2, STEPS, 4))


class Breaking(Actor):
    """Acts with the drawn numbers, and breaks the physics of the second slot at one step."""

    def __init__(self, episodes, step):
        super().__init__(None, DRAWS)
        self.episodes, self.step = episodes, step

    def act(self, step, observation, actions):
        super().act(step, observation, actions)
        if step == self.step:
            state = self.episodes.simulator.get_state(1)
            state[5] = np.nan  # of the physics
            self.episodes.simulator.set_state(1, state)


def collected(task, world, breaks_at=None, rolls=True):
    """Collect two chunks; return the rows, the outcomes and the states afterwards."""
    simulator = make_simulator(task, 2, world)
    episodes = Episodes(simulator, HORIZON, [(7, 0), (7, 1)])
    episodes.start_all()
    assert simulator.roll(STEPS) is not None
    if not rolls:
        simulator.roll = lambda steps: None
    rows = np.zeros((2, 2, STEPS, COLUMNS.width), np.float32)
    actor = Actor(None, DRAWS) if breaks_at is None else Breaking(episodes, breaks_at)
    outcomes = [roll(episodes, actor, chunk, COLUMNS) for chunk in rows]
    states = np.stack([episodes.get_state(slot) for slot in range(2)])
    return rows, outcomes, states


@pytest.mark.parametrize("reward", ["v1", "v2"])
@pytest.mark.parametrize("task", TASKS)
def test_a_roll_collects_what_single_steps_collect(task, reward):
    world = WorldSettings(reward=reward)
    rows, outcomes, states = collected(task, world)
    expected = collected(task, world, rolls=False)
    np.testing.assert_array_equal(rows, expected[0])
    assert outcomes == expected[1]
    assert [outcome.slot for chunk in outcomes for outcome in chunk] == [0, 1] * 3
    np.testing.assert_array_equal(states, expected[2])


@pytest.mark.parametrize("step", [0, 7, HORIZON - 1])
def test_a_slot_that_diverges_in_a_roll_starts_its_next_episode(step):
    rows, outcomes, states = collected("hammer", WorldSettings(), breaks_at=step)
    expected = collected("hammer", WorldSettings(), breaks_at=step, rolls=False)
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal(rows, expected[0])
    assert outcomes == expected[1]
    assert [outcome.slot for outcome in outcomes[0] if outcome.diverged] == [1]
    np.testing.assert_array_equal(states, expected[2])
    # The other slot goes on as if nothing had happened.
    healthy = collected("hammer", WorldSettings())
    np.testing.assert_array_equal(rows[:, 0], healthy[0][:, 0])


def test_there_is_no_roll_with_the_full_observation():
    assert make_simulator("push", 1, WorldSettings(observation="full")).roll(STEPS) is None
