"""Which old head a new task starts from."""

import numpy as np

from recall.training.evaluation import best_heads


def test_the_head_that_earns_most_is_chosen_for_each_run_by_itself():
    scores = np.array([[-5.0, 3.0, 1.0], [1e5, -1e5, 0.0], [-3.0, -2.0, -1.0], [7.0, 7.0, 0.0]])
    np.testing.assert_array_equal(best_heads(scores), [1, 0, 2, 0])


def test_a_head_without_a_score_is_not_chosen_before_one_that_has_any():
    np.testing.assert_array_equal(best_heads(np.array([[np.nan, -1e9], [-np.inf, -2.0]])), [1, 1])
