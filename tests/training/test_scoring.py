"""Which old head a new task starts from, and which episodes are played."""

from types import SimpleNamespace

import numpy as np
import pytest

from recall.collect.messages import EVALUATION, EpisodeResult
from recall.training.evaluation import best_heads, recorded, score_heads, streams


def test_the_head_that_earns_most_is_chosen_for_each_run_by_itself():
    scores = np.array([[-5.0, 3.0, 1.0], [1e5, -1e5, 0.0], [-3.0, -2.0, -1.0], [7.0, 7.0, 0.0]])
    np.testing.assert_array_equal(best_heads(scores), [1, 0, 2, 0])


def test_a_head_without_a_score_is_not_chosen_before_one_that_has_any():
    np.testing.assert_array_equal(best_heads(np.array([[np.nan, -1e9], [-np.inf, -2.0]])), [1, 1])


class Paying:
    """A pool whose episodes pay what the run's policy is worth, plus the episode's number."""

    def play(self, policies, episodes):
        returns = [policies[episode.run] + episode.stream[-1] for episode in episodes]
        return [EpisodeResult(each, False, False) for each in returns]


def test_a_score_is_the_mean_return_of_the_head_over_the_runs_own_episodes():
    runs = [SimpleNamespace(own_seed=seed) for seed in (5, 6, 7)]
    worth = np.array([0.0, 10.0, 20.0])
    scores = score_heads(Paying(), runs, lambda head: 100.0 * head + worth, 2, 4)
    # Four episodes, numbered from 0: 1.5 on average.
    np.testing.assert_array_equal(scores, [[1.5, 101.5], [11.5, 111.5], [21.5, 121.5]])


def test_an_evaluation_records_the_share_of_episodes_that_met_each_criterion():
    results = [
        EpisodeResult(1.0, strict, False, {"success_v1": lax, "success_v2": strict})
        for lax, strict in ((True, False), (True, True), (False, False), (True, False))
    ]
    runs = [SimpleNamespace(tasks=("push",))]
    (record,) = recorded(runs, [0], [0], 100, {"stochastic": 4, "deterministic": 0}, results)
    assert (record["success"], record["success_v1"], record["success_v2"]) == (0.25, 0.75, 0.25)
    assert (record["last_success"], record["return"]) == (0.0, 1.0)


@pytest.mark.parametrize(("mode", "kind"), [("stochastic", 0), ("deterministic", 1)])
def test_every_evaluation_has_episodes_of_its_own(mode, kind):
    found = streams(3, EVALUATION, 1, 500, mode, 2)
    assert found == [(3, EVALUATION, 1, 500, kind, 0), (3, EVALUATION, 1, 500, kind, 1)]
