"""Means and intervals of curves, and curves with fewer points."""

import numpy as np

from recall.report.figures.bands import band, bin_size, thinned


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
    thin_steps, values = thinned(steps, 10 * steps, stages, bin_size([stages], 3))
    np.testing.assert_allclose(thin_steps, [2, 4, 5, 7])
    np.testing.assert_allclose(values, [15, 35, 50, 65])


def test_what_is_left_over_in_thinning_joins_its_neighbours_and_blanks_do_not_count():
    steps = np.arange(1.0, 11.0)  # three times three, and one
    values = np.where(steps == 2, np.nan, steps)
    thin_steps, means = thinned(steps, values, np.zeros(10, int), 3)
    np.testing.assert_allclose(thin_steps, [3, 6, 10])
    np.testing.assert_allclose(means, [2.0, 5.0, 8.5])


def test_runs_that_end_early_have_the_same_bins_as_others():
    whole, early = np.zeros(50, int), np.zeros(24, int)
    assert bin_size([whole, early], 25) == 2
    assert bin_size([early], 25) == 1
    steps = np.arange(1.0, 51.0)
    curves = [(steps, np.full(50, 0.2)), (steps[:24], np.full(24, 0.8))]
    thin = [thinned(*each, np.zeros(len(each[0]), int), 2) for each in curves]
    found = band(thin)
    np.testing.assert_array_equal(found.steps, np.arange(2.0, 51.0, 2))
    np.testing.assert_allclose(found.mean[:12], 0.5)
    np.testing.assert_allclose(found.mean[12:], 0.2)


def test_a_curve_with_fewer_points_is_interpolated_and_not_left_out():
    fine, coarse = np.arange(1.0, 9.0), np.arange(2.0, 7.0, 2)
    found = band([(fine, np.full(8, 0.2)), (coarse, 0.1 * coarse)])
    np.testing.assert_array_equal(found.steps, fine)
    inside = (0.2 + 0.1 * fine[1:6]) / 2
    np.testing.assert_allclose(found.mean, [0.2, *inside, 0.2, 0.2])


def test_nothing_is_interpolated_across_a_break():
    """Both learn a task to 1 up to step 4 and start the next one at 0; one is evaluated less."""
    often, seldom = np.arange(1.0, 9.0), np.array([2.0, 4.0, 6.0, 8.0])
    curves = [
        (often, np.where(often <= 4, 1.0, 0.0)),
        (seldom, np.where(seldom <= 4, 1.0, 0.0)),
    ]
    found = band(curves, breaks=[4])
    np.testing.assert_allclose(found.mean, [1, 1, 1, 1, 0, 0, 0, 0])
    assert band(curves).mean[4] == 0.25  # the mean of 0 and of what lies between 1 and 0
