"""Gymnasium's own wrappers and time limits around our environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from gymnasium.wrappers import vector as vector_wrappers

import recall
from recall.errors import BadValueError


def play(env, steps: int) -> list:
    env.reset(seed=0)
    env.action_space.seed(0)
    return [env.step(env.action_space.sample()) for _ in range(steps)]


def test_vector_wrappers_with_their_autoreset_mode():
    """NormalizeObservation insists on next_step; statistics are right with every mode."""
    env = recall.make_vec("point-slide", 3, horizon=6)
    env = vector_wrappers.NormalizeObservation(vector_wrappers.RecordEpisodeStatistics(env))
    results = play(env, 14)
    assert results[5][3].all()
    assert results[5][4]["episode"]["l"].tolist() == [6, 6, 6]
    assert not results[6][3].any()
    assert results[12][4]["episode"]["l"].tolist() == [6, 6, 6]  # a step between two episodes
    same = recall.make_vec("point-slide", 3, horizon=6, autoreset_mode="SameStep")
    same = vector_wrappers.RecordEpisodeStatistics(same)
    results = play(same, 12)
    for ended in (results[5], results[11]):
        np.testing.assert_array_equal(ended[4]["episode"]["l"], [6, 6, 6])


@pytest.mark.parametrize("limit", [30, 210])
def test_max_episode_steps_is_honoured(limit):
    """Shorter and longer than the world's own 200 steps, in one environment and in many."""
    env = gymnasium.make("ContinualWorld/push-v1", max_episode_steps=limit)
    assert env.spec.max_episode_steps == limit
    truncated = [result[3] for result in play(env, limit)]
    assert truncated == [False] * (limit - 1) + [True]
    many = gymnasium.make_vec("ContinualWorld/push-v1", 2, max_episode_steps=limit)
    truncated = [result[3].tolist() for result in play(many, limit)]
    assert truncated == [[False] * 2] * (limit - 1) + [[True] * 2]


@pytest.mark.parametrize("name", ["push", "cw10"])
def test_a_horizon_is_refused_with_the_way_out(name):
    with pytest.raises(BadValueError, match="max_episode_steps=500"):
        gymnasium.make(f"ContinualWorld/{name}-v1", horizon=500)
    with pytest.raises(BadValueError, match="max_episode_steps=500"):
        gymnasium.make_vec(f"ContinualWorld/{name}-v1", 2, horizon=500)


def test_an_outer_time_limit_tells_the_success_so_far():
    from tests.factories.environments import counter

    env = RecordEpisodeStatistics(TimeLimit(recall.make(counter, horizon=50), 3))
    _, _, _, truncated, info = play(env, 3)[-1]
    assert truncated
    assert (info["success"], info["is_success"], info["episode"]["l"]) == (False, True, 3)
    first, _ = env.reset()
    assert first[0] == 0.0
