"""Means and intervals of curves, and curves with fewer points."""

import dataclasses

import numpy as np

from recall.report.figures.bands import band, thinned
from tests.factories.runs import made_run


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


def test_of_a_step_that_was_logged_twice_the_last_value_counts():
    found = band([(np.array([1, 2, 2, 3]), np.array([0.0, 0.9, 0.2, 0.4])),
                  (np.array([1, 2, 3]), np.array([0.0, 0.4, 0.4]))])  # fmt: skip
    np.testing.assert_array_equal(found.steps, [1, 2, 3])
    np.testing.assert_allclose(found.mean, [0.0, 0.3, 0.4])


def made(length: int, tasks: int = 1):
    """A run with ten steps per task, evaluated at each of its first `length` steps."""
    run = made_run("recall", ",".join(["push", "hammer"][:tasks]), 0, evaluations=10)
    steps = np.arange(1, length + 1)
    return dataclasses.replace(run, steps_per_task=10, steps=steps), steps


def test_thinning_takes_means_of_neighbours_within_stages():
    run, steps = made(17, tasks=2)
    ((thin_steps, values),) = thinned([(run, steps, np.where(steps == 2, np.nan, steps))], 3)
    np.testing.assert_allclose(thin_steps, [5, 10, 15, 17])
    np.testing.assert_allclose(values, [(1 + 3 + 4 + 5) / 4, 8, 13, 16.5])
    ((as_given, _),) = thinned([(run, steps, steps)], 10)
    np.testing.assert_array_equal(as_given, steps)


def test_runs_that_end_early_have_the_same_bins_as_others():
    (whole, steps), (early, some) = made(10), made(5)
    curves = [(whole, steps, np.full(10, 0.2)), (early, some, np.full(5, 0.8))]
    found = band(thinned(curves, 5))
    np.testing.assert_array_equal(found.steps, [2, 4, 5, 6, 8, 10])
    np.testing.assert_allclose(found.mean[:3], 0.5)
    np.testing.assert_allclose(found.mean[3:], 0.2)


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
    found = band(curves, ends=[4])
    np.testing.assert_allclose(found.mean, [1, 1, 1, 1, 0, 0, 0, 0])
    assert band(curves).mean[4] == 0.25  # the mean of 0 and of what lies between 1 and 0
