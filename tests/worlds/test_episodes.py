"""Episodes: what a saved one remembers."""

import numpy as np

from recall.worlds import pointworld
from recall.worlds.episodes import Episodes

HORIZON = 20


def test_a_saved_episode_remembers_that_it_has_succeeded():
    original, copy = (
        Episodes(pointworld.make_simulator("point-rich", 1), HORIZON, [(stream,)])
        for stream in (0, 1)
    )
    original.start(0, {"rand_vec": [0.5, 0.5, 0.5, 0.5]})  # at the goal
    copy.start(0)
    original.step(np.zeros((1, 2)))
    copy.set_state(0, original.get_state(0))
    assert copy.success.tolist() == [True]
    away = np.full((1, 2), -1.0)
    for episodes in (original, copy):
        *_, last = (episodes.step(away) for _ in range(HORIZON - 1))
        (outcome,) = last.outcomes
        assert (outcome.steps, outcome.success, outcome.last_success) == (HORIZON, True, False)
