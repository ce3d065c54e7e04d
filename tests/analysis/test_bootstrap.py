"""Intervals and robust statistics against values known beforehand."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from recall.analysis import estimates
from recall.analysis.estimates import Sampled


def test_the_interval_is_that_of_all_resamples():
    assert estimates.mean(np.array([0.3]), "a").estimate == (0.3, None)
    values = np.array([0.0, 0.1, 0.4, 1.0])
    every = np.sort([np.mean(chosen) for chosen in product(values, repeat=4)])
    _, (low, high) = estimates.mean(values, "a").estimate
    assert low == pytest.approx(np.quantile(every, 0.05), abs=0.03)
    assert high == pytest.approx(np.quantile(every, 0.95), abs=0.03)


def test_transfer_resamples_runs_and_references():
    references = {"t": np.array([0.0, 0.5])}
    weights = estimates.weights_by_seed([0, 1, 2], [0, 1, 2], "a")
    whole = estimates.forward_transfer(np.full((3, 1), 0.75), ["t"], references, weights)
    # The reference's area is drawn as 0, 0.25 or 0.5 with odds 1 : 2 : 1.
    assert whole.value == pytest.approx(2 / 3)
    assert whole.estimate.interval == pytest.approx((0.5, 0.75))
    twice = estimates.forward_transfer(np.full((3, 2), 0.75), ["t", "t"], references, weights)
    assert np.array_equal(twice.draws, whole.draws)
    fixed = {"t": np.array([0.25, 0.25])}
    areas = np.array([[0.25], [1.0]])
    weights = estimates.weights_by_seed([0, 1], [0, 1], "a")
    moved = estimates.forward_transfer(areas, ["t"], fixed, weights)
    assert moved.estimate.interval == pytest.approx((0.0, 1.0))


def test_a_task_stays_in_the_draws_whose_reference_leaves_nothing_to_gain():
    # Both references are drawn as 1 in a quarter of the draws: then FT of "t" has no lower bound.
    references = {"t": np.array([0.0, 1.0]), "u": np.array([0.0, 0.0])}
    weights = estimates.weights_by_seed([0, 1], [0, 1], "a")
    whole = estimates.forward_transfer(np.full((2, 2), 0.5), ["t", "u"], references, weights)
    assert whole.value == pytest.approx((0.0 + 0.5) / 2)
    assert whole.estimate.interval == (-np.inf, 0.5)
    assert np.isneginf(whole.draws).mean() == pytest.approx(0.25, abs=0.03)
    # Nothing is lost by a run that is perfect too.
    same = estimates.forward_transfer(np.ones((2, 1)), ["t"], references, weights)
    assert same.estimate.interval == (0.0, 1.0)


def test_seeds_stay_together_where_a_sequence_lacks_one():
    # What a seed is worth, on every sequence alike: more sequences do not make it surer.
    worth = np.array([0.0, 0.2, 0.4, 0.6, 1.0])
    seeds = [0, 1, 2, 3, 4]

    def sampled(missing: int | None) -> Sampled:
        had = [seed for seed in seeds if seed != missing]
        weights = estimates.weights_by_seed(had, seeds, "a")
        return estimates.weighted_mean(worth[had], weights)

    def width(parts: list[Sampled]) -> float:
        low, high = estimates.mean_of(parts).estimate.interval
        return high - low

    whole = width([sampled(None)] * 5)
    assert width([sampled(missing) for missing in seeds]) == pytest.approx(whole, rel=0.1)
    single = estimates.weighted_mean(worth, estimates.weights_by_seed(seeds, seeds, "a"))
    assert single.estimate == estimates.mean(worth, "a").estimate
    assert estimates.weights_by_seed([3, 3], seeds, "a") is None


@pytest.mark.parametrize("size", [1, 2, 7, 8, 30])
def test_the_interquartile_mean_is_the_trimmed_one(size):
    values = np.random.default_rng(size).random(size)
    assert estimates.middle_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))


def test_the_interquartile_mean_has_an_interval():
    values = np.random.default_rng(0).random((5, 4))
    estimate = estimates.sampled_interquartile_mean(values, "a").estimate
    assert estimate.interval[0] < estimate.value < estimate.interval[1]
    same = estimates.sampled_interquartile_mean(np.tile(values[:1], (3, 1)), "a").estimate
    assert same.interval == pytest.approx((same.value, same.value))
