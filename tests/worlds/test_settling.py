"""Hands that settle ahead of time: the same episodes to the bit, without settling at the reset."""

import numpy as np
import pytest

from recall.settings import WorldSettings
from recall.worlds.continual_world import TASKS, sawyer
from recall.worlds.continual_world.tasks import load_task
from recall.worlds.episodes import Episodes
from recall.worlds.registry import make_simulator

ANEW = [name for name in TASKS if load_task(name).settles_anew]
HORIZON = 5


def episodes_of(task: str, slots: int = 2, **settings: str) -> Episodes:
    simulator = make_simulator(task, slots, WorldSettings(**settings))
    episodes = Episodes(simulator, HORIZON, [(7, slot) for slot in range(slots)])
    episodes.start_all()
    return episodes


def played(task: str, ahead: bool, **settings: str) -> np.ndarray:
    """Return the states of all slots through four episodes of random actions."""
    episodes, rng = episodes_of(task, **settings), np.random.default_rng(0)
    states = []
    for _ in range(4 * HORIZON):
        episodes.step(rng.uniform(-1.0, 1.0, (2, 4)))
        if ahead:
            episodes.expect_next()
        states.append([episodes.get_state(slot) for slot in range(2)])
    return np.array(states)


@pytest.mark.parametrize("task", [*ANEW, "push"])
def test_episodes_are_the_same(task):
    assert len(ANEW) == 2
    world = {"reward": "v2", "observation": "full"}
    np.testing.assert_array_equal(
        played(task, ahead=True, **world), played(task, ahead=False, **world)
    )


@pytest.mark.parametrize("change", ["none", "set_state", "set_stream", "close"])
def test_an_expected_episode_does_not_settle_when_it_starts(change, monkeypatch):
    task = "peg-unplug-side"
    episodes = episodes_of(task)
    episodes.expect_next()
    if change == "set_state":
        for slot in range(2):
            episodes.set_state(slot, episodes_of(task).get_state(slot))
    elif change == "set_stream":
        for slot in range(2):
            episodes.set_stream(slot, (9, slot))
            episodes.start(slot)
    elif change == "close":
        episodes.simulator.close()
        episodes.start_all()
    episodes.expect_next()

    def refuse(*_):
        raise AssertionError("settled at the reset")

    monkeypatch.setattr(sawyer, "settle", refuse)
    episodes.start(1)
    episodes.start(0)
    with pytest.raises(AssertionError, match="settled at the reset"):
        episodes.start(0)  # not expected
