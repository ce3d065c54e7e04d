"""Who acts at the start of a task, what each earns, and which old head is copied."""

import numpy as np
import pytest

from recall.training.start import Turns, best_heads, turn_steps


def test_random_actions_and_old_heads_take_turns():
    turns = Turns(heads=2, turn_steps=10, steps=70)
    actors = [turns.actor(step) for step in range(0, 70, 10)]
    assert actors == [-1, 0, 1, -1, 0, 1, -1]
    assert [turns.actor(step) for step in (9, 10, 19, 20)] == [-1, 0, 0, 1]
    paper = Turns(heads=2, turn_steps=10, steps=70, random=False)
    assert [paper.actor(step) for step in range(0, 40, 10)] == [0, 1, 0, 1]
    first = Turns(heads=0, turn_steps=10, steps=70, random=False)
    assert {first.actor(step) for step in range(70)} == {-1}


@pytest.mark.parametrize("environments", [1, 2])
def test_a_score_is_the_mean_return_of_the_episodes_within_an_actors_turns(environments):
    """Each step pays 1, 10 or 100 by its actor, so a return tells who acted."""
    turns = Turns(heads=2, turn_steps=12, steps=72)
    pays = np.array([10.0 ** (1 + turns.actor(step)) for step in range(72)])
    reward = np.stack([pays, 2.0 * pays])
    ended = np.zeros((2, 72), bool)
    length = 4 * environments  # of an episode, in steps of the run
    for environment in range(environments):
        ended[:, length - environments + environment :: length] = True
    scores = turns.scores(reward, ended, environments)
    np.testing.assert_allclose(scores[0], [4.0, 40.0, 400.0])
    np.testing.assert_allclose(scores[1], 2.0 * scores[0])


def test_episodes_across_turns_do_not_count():
    turns = Turns(heads=1, turn_steps=10, steps=40)
    reward, ended = np.ones((1, 40)), np.zeros((1, 40), bool)
    ended[0, [6, 15, 29, 39]] = True  # 0-6 random, 7-15 across, 16-29 across, 30-39 of the head
    np.testing.assert_array_equal(turns.scores(reward, ended, 1), [[7.0, 10.0]])
    ended[0, 39] = False
    np.testing.assert_array_equal(turns.scores(reward, ended, 1), [[7.0, np.nan]])


def test_the_best_old_head_is_chosen_where_it_beats_random_actions():
    scores = [[0.0, 3.0, 1.0], [5.0, -1.0, 4.0], [np.nan, -3.0, -2.0], [1.0, np.nan, np.nan],
              [2.0, 2.0, 0.0]]  # fmt: skip
    np.testing.assert_array_equal(best_heads(np.array(scores)), [0, -1, 1, -1, -1])


def test_an_environment_without_a_finished_episode_has_no_score():
    turns = Turns(heads=1, turn_steps=10, steps=20)
    assert np.isnan(turns.scores(np.ones((2, 20)), np.zeros((2, 20), bool), 2)).all()


@pytest.mark.parametrize("episode", [50, 120, 200, 333])
@pytest.mark.parametrize("heads", [1, 2, 3])
def test_every_actor_has_whole_episodes_however_long_they_are(episode, heads):
    """Chunks have 50 steps, and episodes follow each other without regard to turns."""
    turns = Turns(heads, turn_steps(episode, 50), 10_000)
    ended = np.zeros((1, 10_000), bool)
    ended[0, episode - 1 :: episode] = True
    assert turns.turn_steps % 50 == 0
    np.testing.assert_array_equal(turns.scores(np.ones((1, 10_000)), ended, 1), episode)
