"""Means and intervals of curves, and curves with fewer points."""

import numpy as np

from recall.report.figures.bands import band, thinned


def test_a_band_is_of_the_runs_that_got_there():
    steps = np.array([1.0, 2.0, 3.0])
    found = band([(steps, np.array([0.0, 0.4, 1.0])), (steps[:2], np.array([1.0, np.nan]))])
    np.testing.assert_allclose(found.mean, [0.5, 0.4, 1.0])
    assert found.low[0] == 0.0  # both draws the same run about one time in four
    assert found.high[0] == 1.0
    assert found.low[2] == found.high[2] == 1.0
    alone = band([(steps, steps)])
    np.testing.assert_array_equal(alone.low, alone.mean)
    nothing = band([(steps, np.full(3, np.nan)), (steps, np.full(3, np.nan))])
    assert len(nothing.steps) == 0


def test_thinning_takes_means_and_does_not_mix_stages():
    steps, stages = np.arange(1.0, 8.0), np.array([0, 0, 0, 0, 0, 1, 1])
    thin_steps, values = thinned(steps, 10 * steps, stages, 3)
    np.testing.assert_allclose(thin_steps, [2, 4, 5, 7])
    np.testing.assert_allclose(values, [15, 35, 50, 65])


def test_what_is_left_over_in_thinning_joins_its_neighbours_and_blanks_do_not_count():
    steps = np.arange(1.0, 11.0)  # three times three, and one
    values = np.where(steps == 2, np.nan, steps)
    thin_steps, means = thinned(steps, values, np.zeros(10, int), 4)
    np.testing.assert_allclose(thin_steps, [3, 6, 10])
    np.testing.assert_allclose(means, [2.0, 5.0, 8.5])
