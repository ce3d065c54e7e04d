"""The metrics against cases worked out by hand and against the paper's formulas, spelt out."""

import numpy as np
import pytest

from recall.analysis import metrics
from recall.analysis.metrics import Curves


def curve(success, steps_per_task=100, every=25) -> Curves:
    success = np.array(success, float)
    steps = every * np.arange(1, len(success) + 1)
    return Curves(tuple(f"t{i}" for i in range(success.shape[1])), steps_per_task, steps, success)


TWO_TASKS = curve(
    [[0.2, 0.0], [0.4, 0.0], [0.6, 0.0], [0.8, 0.1], [0.7, 0.2], [0.5, 0.4], [0.3, 0.9], [0.1, 1.0]]
)


def performance(made, window=metrics.WINDOW):
    return metrics.final_successes(made, window).mean()


def forgetting(made, window=metrics.WINDOW):
    trained = metrics.trained_successes(made, window)
    return (trained - metrics.final_successes(made, window)).mean()


def transfer(made, reference):
    return np.nanmean(metrics.transfer(metrics.areas(made), np.array(reference)))


def test_the_metrics_are_what_they_are_by_hand():
    assert performance(TWO_TASKS, 1) == pytest.approx((0.1 + 1.0) / 2)
    assert forgetting(TWO_TASKS, 1) == pytest.approx((0.8 - 0.1 + 0.0) / 2)
    # AUC: (0.2 + 0.4 + 0.6 + 0.8) / 4 = 0.5 and (0.2 + 0.4 + 0.9 + 1.0) / 4 = 0.625.
    # (0.5 - 0.25) / 0.75 = 1/3 and (0.625 - 0.75) / 0.25 = -1/2.
    assert transfer(TWO_TASKS, [0.25, 0.75]) == pytest.approx((1 / 3 - 1 / 2) / 2)
    assert np.isnan(metrics.transfer(np.array([0.9]), np.array([1.0])))  # nothing is to gain


def test_an_evaluation_counts_for_the_steps_since_the_one_before():
    uneven = Curves(("t",), 100, np.array([40, 80, 100]), np.array([[0.0], [0.5], [1.0]]))
    # 40 steps of 0, 40 of 0.5 and 20 of 1.
    assert metrics.area(uneven, 0) == pytest.approx(0.4)


def test_values_that_are_no_numbers_are_left_out_of_means():
    holed = TWO_TASKS.success.copy()
    holed[7, 0] = np.nan
    assert metrics.successes_at(curve(holed), 200, window=2)[0] == pytest.approx(
        0.3
    )  # the one before
    assert metrics.area(curve(np.where(holed == 0.2, np.nan, holed)), 0) == pytest.approx(0.6)
    holed[:, 1] = np.nan
    assert np.isnan(performance(curve(holed)))


def test_what_a_run_did_not_reach_has_no_value():
    stopped = curve(TWO_TASKS.success[:7])
    assert metrics.trained_successes(stopped, 1) == pytest.approx([0.8, np.nan], nan_ok=True)
    assert np.isnan(performance(stopped))
    assert np.isnan(metrics.area(stopped, 1))
    assert metrics.area(stopped, 0) == pytest.approx(0.5)
    nothing = Curves(("t",), 100, np.zeros(0, int), np.zeros((0, 1)))
    assert np.isnan(performance(nothing))


def spelt_out(success, per_stage, window, reference):
    """Section 5.1, sum by sum; p is constant between two evaluations."""
    tasks = success.shape[1]
    delta = 1.0 / per_stage  # steps between evaluations, in tasks

    def p(i, stage_end):  # p_i at the end of stage `stage_end`, smoothed
        values = []
        for k in range(stage_end * per_stage - 1, (stage_end - 1) * per_stage - 1, -1):
            if not values or (len(values) < window and 5 * (len(values) + 1) <= per_stage):
                values.append(success[k, i])
        return sum(values) / len(values)

    performance = forgetting = transfer = 0.0
    for i in range(tasks):
        performance += p(i, tasks) / tasks
        forgetting += (p(i, i + 1) - p(i, tasks)) / tasks
        integral = 0.0
        for k in range(i * per_stage, (i + 1) * per_stage):
            integral += success[k, i] * delta
        transfer += (integral - reference[i]) / (1.0 - reference[i]) / tasks
    return performance, forgetting, transfer


@pytest.mark.parametrize("seed", range(8))
def test_random_curves_agree_with_the_formulas_spelt_out(seed):
    random = np.random.default_rng(seed)
    tasks, per_stage, window = random.integers(1, 6), random.integers(1, 40), random.integers(1, 8)
    success = random.random((tasks * per_stage, tasks))
    reference = random.random(tasks) * 0.9
    made = curve(success, steps_per_task=25 * per_stage)
    found = (
        performance(made, window),
        forgetting(made, window),
        transfer(made, reference),
    )
    assert found == pytest.approx(spelt_out(success, per_stage, window, reference))
